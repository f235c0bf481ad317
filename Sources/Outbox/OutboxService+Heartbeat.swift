extension OutboxService {
    /// How something that the outbox does shows that it goes on: an attempt, or a look for calls.
    package struct Heartbeat: Sendable {
        let beat: @Sendable () -> Void
        let finish: @Sendable () -> Void

        /// - Parameters:
        ///   - beat: called at the beginning and after each step; none takes longer than a request or an exchange with the database may.
        ///   - finish: called when it has ended as it should.
        package init(beat: @escaping @Sendable () -> Void, finish: @escaping @Sendable () -> Void) {
            self.beat = beat
            self.finish = finish
        }
    }
}
