import Inbox
import NIOCore
import ServiceLifecycle

/// Gives a sign of life as long as the parts that do the work are alive: every event loop, the tasks, and the intake.
struct Heartbeat: Service {
    private let interval: Duration
    private let eventLoopGroup: any EventLoopGroup
    private let intake: Intake
    private let beat: @Sendable () -> Void

    init(every interval: Duration, eventLoopGroup: any EventLoopGroup, intake: Intake, beat: @escaping @Sendable () -> Void) {
        self.interval = interval
        self.eventLoopGroup = eventLoopGroup
        self.intake = intake
        self.beat = beat
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                while true {
                    for eventLoop in eventLoopGroup.makeIterator() { try await eventLoop.submit {}.get() }
                    if !intake.isStuck { beat() }
                    try await Task.sleep(for: interval)
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
    }
}
