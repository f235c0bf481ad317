/// How much one batch may take, how long, and how failures are retried.
package struct QueueConfiguration: Sendable {
    /// Events in a batch, at least 1.
    package var batchEvents = 200
    /// Bytes of bodies in a batch.
    package var batchBytes = 8 << 20
    package var retry = RetryPolicy()

    /// How long the preparation of a batch may take when batches are quick. One that takes longer is given up, and its events run one by one.
    package var patience: Duration = .milliseconds(500)
    /// The same where every batch is slow.
    package var maximumPatience: Duration = .seconds(30)
    /// How long the preparation of an event that runs alone may take, and twice that a statement of its merge; twice as long after each of its
    /// first failures.
    package var suspectPatience: Duration = .seconds(1)
    /// How long a suspect, or several one after the other, keep all others out; who is prepared or merged for longer goes on beside them.
    /// A claim, a marker and a COMMIT have the pool's own bounds.
    package var solitude: Duration = .milliseconds(600)
    /// How long a suspect waits for the batches under way to end, while no other begins; twice as long each time that it was in vain.
    package var solitudePatience: Duration = .milliseconds(250)
    /// The same where every batch is slow.
    package var maximumSolitudePatience: Duration = .seconds(2)
    /// How long a statement of a batch's merge may take when batches are quick, before the event that is slow is looked for; see
    /// ``BatchIsolation``. The others of its batch wait for that, twice a quarter of it and the merge of their parts: less than a second.
    package var statementPatience: Duration = .milliseconds(400)
    /// The same where every batch is slow.
    package var maximumStatementPatience: Duration = .seconds(30)
    /// How long a batch may wait for the database in all before it is forgotten and taken again later. Longer than any statement may take,
    /// which tells the event that is slow from the others.
    package var mergePatience: Duration = .seconds(60)
    /// How long to wait for a crash marker to be committed.
    package var markerPatience: Duration = .seconds(1)
    /// How long what was given up has to end by itself, before its process is ended, and how much longer than a preparation a merge may
    /// compute between two answers of the database.
    package var hangPatience: Duration = .seconds(2)

    /// How long a process has to say that it lives, after a batch of its was found lost: the time of a reconnect.
    package var companyGrace: Duration = .seconds(2)
    /// The same for a suspect that it ran alone, where the answer is about guilt.
    package var grace: Duration = .seconds(10)
    /// How many deaths of its process make an event `failed`, and how long it backs off after each.
    package var deaths = RetryPolicy(maximumAttempts: 3, baseDelay: .seconds(5), maximumDelay: .seconds(600))

    package init() {}

    var lossRules: LostBatches.Rules { LostBatches.Rules(companyGrace: companyGrace, grace: grace, deaths: deaths) }

    /// What an event that runs alone is allowed for its preparation.
    func suspectPatience(afterFailures failures: Int) -> Duration {
        suspectPatience * (1 << min(failures, 2))
    }
}
