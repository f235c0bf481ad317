package import NIOCore
import ServiceLifecycle

/// Calls `beat` at an interval while every event loop and the cooperative pool respond and `isStuck` is false.
package struct Heartbeat: Service {
    private let interval: Duration
    private let eventLoopGroup: any EventLoopGroup
    private let isStuck: @Sendable () -> Bool
    private let beat: @Sendable () -> Void

    package init(
        every interval: Duration,
        eventLoopGroup: any EventLoopGroup,
        isStuck: @escaping @Sendable () -> Bool,
        beat: @escaping @Sendable () -> Void
    ) {
        self.interval = interval
        self.eventLoopGroup = eventLoopGroup
        self.isStuck = isStuck
        self.beat = beat
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                while true {
                    for eventLoop in eventLoopGroup.makeIterator() { try await eventLoop.submit {}.get() }
                    if !isStuck() { beat() }
                    try await Task.sleep(for: interval)
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
    }
}
