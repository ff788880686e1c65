// Launches a kernel by name: all blocks in turn, every thread of a block until all are done.
typedef void (*Kernel)(const Fleet, const Call);
static Kernel kernel_;
static Fleet fleet_;
static Call call_;
static void enter() {
    threadIdx.x = running;
    kernel_(fleet_, call_);
    fibers[running].done = true;
    progress = true;
}
static void run_block(int threads) {
    fibers.resize(threads);
    meetings.clear();
    for (auto &f : fibers) {
        if (f.stack.empty()) f.stack.resize(256 * 1024);
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data();
        f.context.uc_stack.ss_size = f.stack.size();
        f.context.uc_link = &scheduler;
        makecontext(&f.context, enter, 0);
        f.done = false;
    }
    for (int left = threads, rounds = 0; left;) {
        progress = false;
        left = 0;
        for (int i = 0; i < threads; i++) {
            if (fibers[i].done) continue;
            running = i;
            threadIdx.x = i;
            swapcontext(&scheduler, &fibers[i].context);
            left += !fibers[i].done;
        }
        rounds = progress ? 0 : rounds + 1;
        if (left && rounds > 3) { fprintf(stderr, "deadlock: %d threads wait\n", left); abort(); }
    }
}
static std::map<std::string, Kernel> &kernels() {
    static std::map<std::string, Kernel> list = {KERNELS};
    return list;
}
extern "C" int emulate(const char *name, int gx, int gy, int gz, int threads, int shared, const void *fleet, const void *call) {
    auto found = kernels().find(name);
    if (found == kernels().end()) return 1;
    kernel_ = found->second;
    memcpy((void *)&fleet_, fleet, sizeof(Fleet));
    memcpy((void *)&call_, call, sizeof(Call));
    gridDim = {gx, gy, gz};
    blockDim = {threads, 1, 1};
    static std::vector<unsigned char> buffer(300 * 1024);
    emulated_shared = (unsigned char *)(((size_t)buffer.data() + 1023) & ~(size_t)1023);
    for (int z = 0; z < gz; z++)
        for (int y = 0; y < gy; y++)
            for (int x = 0; x < gx; x++) {
                memset(emulated_shared, 0xff, shared); // NaN where nothing was written
                blockIdx = {x, y, z};
                run_block(threads);
            }
    return 0;
}
