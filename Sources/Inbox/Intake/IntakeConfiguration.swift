extension Intake {
    /// The limits of an intake.
    package struct Configuration: Sendable {
        /// The most bodies in one batch.
        package var maximumBatchEvents = 64
        /// The most bytes of bodies in one batch. A larger body goes alone.
        package var maximumBatchBytes = 2 * 1024 * 1024
        /// The longest that a body waits for company while another batch is being committed.
        package var linger: Duration = .milliseconds(2)
        /// The most batches that are being committed at once, each on a connection of its own.
        package var maximumBatchesInFlight = 2
        /// The most bodies that wait for a batch.
        package var maximumWaitingEvents = 1024
        /// The most bytes of bodies that wait for a batch.
        package var maximumWaitingBytes = 16 * 1024 * 1024
        /// The longest that one batch may take, getting a connection included.
        package var commitTimeout: Duration = .seconds(10)
        /// The longest that a probe of the database may take.
        package var probeTimeout: Duration = .seconds(2)
        /// How long a confirmed commit or probe counts as proof that the database takes bodies.
        package var readinessFreshness: Duration = .seconds(1)
        /// The first and the longest delay between two probes while the database is not available; each is jittered.
        package var probeDelay: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

        package init() {}
    }
}
