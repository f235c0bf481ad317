import ServiceSupport

extension DetachedThread {
    /// Runs `body` on a new thread and returns when it has ended; on the calling thread when none can be started.
    static func run(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = {
                body()
                continuation.resume()
            }
            do { try start(named: "clean-up", work) } catch { work() }
        }
    }
}
