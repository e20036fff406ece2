def svg(ruleset, state, *, seat=None, last_action=None):
    circles = "".join(
        f'<circle cx="{20 + 30 * n}" cy="{20 + 30 * h}" r="12" fill="#c33"/>'
        for h, count in enumerate(state["heaps"])
        for n in range(int(count))
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="170" height="100" viewBox="0 0 170 100">'
        f'<rect width="170" height="100" fill="#eee"/>{circles}</svg>'
    )
