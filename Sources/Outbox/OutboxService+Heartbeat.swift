extension OutboxService {
    /// Shows a watchdog that an attempt, or a poll for calls, makes progress.
    package struct Heartbeat: Sendable {
        let beat: @Sendable () -> Void
        let finish: @Sendable () -> Void

        /// - Parameters:
        ///   - beat: called at the beginning and after each step. No step takes longer than the timeout of a request or a statement.
        ///   - finish: called at the regular end.
        package init(beat: @escaping @Sendable () -> Void, finish: @escaping @Sendable () -> Void) {
            self.beat = beat
            self.finish = finish
        }
    }
}
