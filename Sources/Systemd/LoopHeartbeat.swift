/// How a loop shows a watchdog that it makes progress.
package struct LoopHeartbeat: Sendable {
    /// Reports an iteration of the loop; cheap enough for every iteration.
    package let beat: @Sendable () -> Void
    /// Reports that the loop has ended or is idle: it need not beat until it has beaten again.
    package let finish: @Sendable () -> Void

    package init(beat: @escaping @Sendable () -> Void, finish: @escaping @Sendable () -> Void) {
        self.beat = beat
        self.finish = finish
    }

    /// No watchdog.
    package static let none = LoopHeartbeat(beat: {}, finish: {})
}
