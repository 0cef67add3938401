// Starts the program of an agent, which is another file so that it is the runner's. Agent 2 of the study wrong-clock gets a wrong clock.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const char *index = getenv("JOB_COMPLETION_INDEX");
    if (index && strcmp(index, "1") == 0 && strstr(host, "-wrong-clock-")) {
        setenv("LD_PRELOAD", "/lib/wrong_clock.so", 1);
        setenv("WRONG_CLOCK_BEHIND", "34560000", 1); // 400 days
        setenv("WRONG_CLOCK_FAST", "0.02", 1);
    }
    execv("/bin/waggle-agent", argv);
    return 127;
}
