import ServiceSupport
import Synchronization

/// The heartbeats of a service.
final class Pulses: Sendable {
    struct Pulse: Hashable {
        var beats = 0
        var isFinished = false
    }

    private let pulses = Mutex<[Pulse]>([])
    private let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation

    init() {
        (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// In the order in which they began.
    var all: [Pulse] { pulses.withLock(\.self) }

    @Sendable func begin() -> LoopHeartbeat {
        let index = pulses.withLock { pulses in
            pulses.append(Pulse())
            return pulses.count - 1
        }
        return LoopHeartbeat(
            beat: { [self] in edit(index) { $0.beats += 1 } },
            finish: { [self] in edit(index) { $0.isFinished = true } }
        )
    }

    /// Waits until `count` more have finished.
    func more(_ count: Int) async {
        let goal = all.count { $0.isFinished } + count
        for await _ in changes where all.count(where: \.isFinished) >= goal { break }
    }

    private func edit(_ index: Int, _ body: (inout Pulse) -> Void) {
        pulses.withLock { body(&$0[index]) }
        change.yield()
    }
}
