import ServiceLifecycle

extension Task where Success == Never, Failure == Never {
    /// Waits that long, or until graceful shutdown or cancellation, which the caller's loop checks for next.
    package static func rest(for duration: Duration) async {
        await cancelWhenGracefulShutdown {
            do {
                try await sleep(for: duration)
            } catch {
                // Cut short.
            }
        }
    }

    /// Whether a loop of this task is to end.
    package static var isEnding: Bool { isShuttingDownGracefully || isCancelled }
}
