import Synchronization
import Testing

@testable import HTTPServing

struct ReadinessTests {
    private final class Seen: Sendable {
        let ports = Mutex<[[String: Int?]]>([])
    }

    @Test func `the callback runs once, when the last listener is bound`() async {
        let seen = Seen()
        let ready = Readiness<String>(["a", "b"]) { ports in seen.ports.withLock { $0.append(ports) } }
        await ready.bound("a", to: 1)
        await ready.bound("a", to: 1)
        #expect(seen.ports.withLock { $0 } == [])
        await ready.bound("b", to: nil)
        await ready.bound("b", to: nil)
        #expect(seen.ports.withLock { $0 } == [["a": 1, "b": nil]])
    }
}
