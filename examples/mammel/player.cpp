// Mark Mammel's player of Pente, the computer player of pente.org, as a library for player.py, which tells how to build it.

#include "Ai.h"

extern "C" {

// A player; its tables are read from the current folder.
void *player_new() { return new CAi(); }

// The square (y * 19 + x) that it answers to `moves`, all moves of the game in their order.
int player_move(void *player, int count, int *moves, int level, int threats) {
    JNIEnv java;
    auto *ai = static_cast<CAi *>(player);
    ai->stopped = ai->callbacks = ai->Kgame = 0;
    ai->Move(&java, nullptr, nullptr, nullptr, count, moves, level, threats);
    return ai->bmove;
}
}
