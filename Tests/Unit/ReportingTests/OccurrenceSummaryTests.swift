import Logging
import ServiceSupport
import Synchronization
import Testing

@Suite struct OccurrenceSummaryTests {
    /// A clock that the test moves, and the lines that were written.
    private final class Scene: Sendable {
        private let clock = Mutex(ContinuousClock.now)
        private let lines = Mutex<[String]>([])

        func pass(seconds: Int) { clock.withLock { $0 += .seconds(seconds) } }

        /// The lines since the last call.
        func written() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }

        func summary(maximumKinds: Int = 20) -> OccurrenceSummary {
            let logger = Logger(label: "test") { [self] _ in Handler(scene: self) }
            return OccurrenceSummary("refused", maximumKinds: maximumKinds, logger: logger) { [self] in clock.withLock(\.self) }
        }

        private struct Handler: LogHandler {
            let scene: Scene
            var logLevel = Logger.Level.trace
            var metadata: Logger.Metadata = [:]
            var metadataProvider: Logger.MetadataProvider?

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                let all = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
                scene.lines.withLock { $0.append("\(event.level) \(event.message) \(all)") }
            }
        }
    }

    @Test func `the first line comes at once, and the next ones each minute, with the count since the last`() {
        let scene = Scene()
        let summary = scene.summary()
        for _ in 0..<3 { summary.count(["reason": "forged"], level: .notice) }
        summary.flush()
        #expect(scene.written() == ["notice refused count=3 reason=forged seconds=1"])
        for _ in 0..<59 {
            summary.count(["reason": "forged"], level: .notice)
            scene.pass(seconds: 1)
            summary.flush()
        }
        #expect(scene.written() == [])
        scene.pass(seconds: 1)
        summary.flush()
        #expect(scene.written() == ["notice refused count=59 reason=forged seconds=60"])
    }

    @Test func `after a minute of silence the next occurrence is reported at once again`() {
        let scene = Scene()
        let summary = scene.summary()
        summary.count(["reason": "forged"], level: .notice)
        summary.flush()
        scene.pass(seconds: 60)
        summary.flush()
        #expect(scene.written().count == 1)
        summary.count(["reason": "forged"], level: .notice)
        summary.flush()
        #expect(scene.written() == ["notice refused count=1 reason=forged seconds=1"])
    }

    @Test func `each kind has its line, the most frequent first`() {
        let scene = Scene()
        let summary = scene.summary()
        summary.count(["reason": "a"], level: .warning)
        for _ in 0..<2 { summary.count(["reason": "b", "bundle": "com.example"], level: .notice) }
        summary.flush()
        #expect(
            scene.written() == [
                "notice refused bundle=com.example count=2 reason=b seconds=1", "warning refused count=1 reason=a seconds=1",
            ]
        )
    }

    @Test func `beyond the limit of kinds, details are left out`() {
        let scene = Scene()
        let summary = scene.summary(maximumKinds: 2)
        for path in 0..<1000 { summary.count(["reason": "x"], details: ["path": "\(path)"], level: .notice) }
        summary.flush()
        let lines = scene.written()
        #expect(lines.count == 3)
        #expect(lines[0] == "notice refused count=998 reason=x seconds=1")
    }

    @Test func `the end reports what a minute would have`() {
        let scene = Scene()
        let summary = scene.summary()
        for _ in 1...2 {
            summary.count(["reason": "x"], level: .notice)
            summary.flush(all: true)
        }
        #expect(scene.written().count == 2)
    }
}
