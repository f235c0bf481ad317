package import Postgres

/// How much one batch may take, how long, and how failures are retried.
package struct QueueConfiguration: Sendable {
    /// Events in a batch, at least 1.
    package var batchEvents = 200
    /// Bytes of bodies in a batch.
    package var batchBytes = 8 << 20
    /// How often an event is tried in one run, at least 1. With ``retry`` the default takes seven to fourteen hours.
    package var maximumAttempts = 20
    /// The delays between attempts.
    package var retry = Backoff(base: .seconds(1), cap: .seconds(7200), jitter: 0.5)

    /// How long each statement of a batch's merge may take.
    package var batchTimeout: Duration = .seconds(5)
    /// The same for an event of a failed batch that runs by itself. One that takes longer is isolated, and no attempt is counted.
    package var singleTimeout: Duration = .milliseconds(500)
    /// The same for an isolated event, also for what it computes. One that takes longer has failed an attempt, or is counted a death.
    package var isolatedTimeout: Duration = .seconds(2)
    /// How long a preparation or a merge may compute without progress before the process ends itself.
    package var computeTimeout: Duration = .seconds(5)

    /// How long after its start a process marks its batches, see ``CrashMarkers``.
    package var markersAfterStart: Duration = .seconds(600)
    /// How long a process that lost a batch has to report that it lives: the time of a reconnect.
    package var grace: Duration = .seconds(2)
    /// The same where an isolated event would be counted a death.
    package var isolatedGrace: Duration = .seconds(10)

    package init() {}
}
