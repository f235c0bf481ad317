extension GroupCommitter {
    /// The limits of a group committer.
    package struct Configuration: Sendable {
        /// The most bodies in one batch.
        package var maximumBatchEvents = 64
        /// The most bytes of bodies in one batch. A larger body gets its own batch.
        package var maximumBatchBytes = 2 * 1024 * 1024
        /// The longest that a body waits for further bodies while another batch is being committed.
        package var linger: Duration = .milliseconds(2)
        /// The most batches in flight, each on its own connection.
        package var maximumBatchesInFlight = 2
        /// The most bodies that wait for a batch.
        package var maximumWaitingEvents = 1024
        /// The most bytes of bodies that wait for a batch.
        package var maximumWaitingBytes = 16 * 1024 * 1024
        /// The timeout of one batch, including the wait for a connection.
        package var commitTimeout: Duration = .seconds(10)
        /// The timeout of a probe.
        package var probeTimeout: Duration = .seconds(2)
        /// How long a commit or probe counts as proof that the database accepts bodies.
        package var readinessFreshness: Duration = .seconds(1)
        /// The first and the longest delay between two probes while the database is not available; each is jittered.
        package var probeDelay: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

        package init() {}
    }
}
