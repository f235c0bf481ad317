/// How much one batch may take, how long, and how failures are retried.
package struct QueueConfiguration: Sendable {
    /// Events in a batch, at least 1.
    package var batchEvents = 100
    /// Bytes of bodies in a batch.
    package var batchBytes = 8 << 20
    package var retry = RetryPolicy()

    /// How long a batch may take from its claim to its outcomes, when batches are quick. One that takes longer is given up, and its events
    /// run one by one.
    package var patience: Duration = .seconds(1)
    /// The same where every batch is slow. Below `idle_in_transaction_session_timeout`.
    package var maximumPatience: Duration = .seconds(30)
    /// How long an event that runs alone may take.
    package var suspectPatience: Duration = .seconds(5)
    /// How long to wait for a crash marker to be committed.
    package var markerPatience: Duration = .seconds(1)

    /// How long a process has to say that it lives, after a suspect that it ran alone was found lost.
    package var grace: Duration = .seconds(10)
    /// How many deaths of its process make an event `failed`, and how long it backs off after each.
    package var deaths = RetryPolicy(maximumAttempts: 3, baseDelay: .seconds(5), maximumDelay: .seconds(600))

    package init() {}

    var lossRules: LostBatches.Rules { LostBatches.Rules(grace: grace, deaths: deaths) }
}
