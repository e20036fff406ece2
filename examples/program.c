/* An agent that plays a random legal action; see docs/programs.md. Lines are as long as they are, so they are read whole.
   cc -O2 -o random_legal examples/program.c */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number that follows a name, or a default. */
static long number_after(const char *line, const char *name, long otherwise)
{
    const char *found = strstr(line, name);
    return found ? strtol(found + strlen(name), NULL, 10) : otherwise;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (strstr(line, "\"type\":\"begin\"")) {
            srand((unsigned)number_after(line, "\"seed\":", 0));
            puts("{\"wants\":[\"legal\"]}");
        } else if (strstr(line, "\"type\":\"act\"")) {
            const char *at = strstr(line, "\"legal\":[");
            long chosen = -1, seen = 0;
            char *end;
            if (at)
                for (at += strlen("\"legal\":["); *at != ']'; at = *end == ',' ? end + 1 : end) {
                    long action = strtol(at, &end, 10);
                    if (end == at)
                        break;
                    if (rand() % ++seen == 0) /* each with the same probability */
                        chosen = action;
                }
            printf("{\"action\":%ld}\n", chosen);
        } else {
            break;
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}
