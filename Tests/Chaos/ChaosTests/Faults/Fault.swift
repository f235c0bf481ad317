/// What a run does to the installation. A run fails unless each of them has happened.
enum Fault: String, CaseIterable, Sendable {
    // Daemons: one is killed about every second.
    case workerKilled = "worker killed"
    case ingestKilled = "ingest killed"
    case workerRestarted = "worker told to end"
    case ingestRestarted = "ingest told to end"
    case workerStopped = "worker stopped for a while"
    case ingestStopped = "ingest stopped for a while"

    // PostgreSQL.
    case serverRestarted = "PostgreSQL restarted"
    case serverKilled = "PostgreSQL killed"
    case sessionsTerminated = "sessions terminated"
    case slotsTaken = "all connections taken by others"
    case standbyAway = "standby away, waiting commits cancelled"
    case failover = "failover to the standby"

    // Connections between the two.
    case commitNotDelivered = "worker's COMMIT cut off before it arrived"
    case commitUnanswered = "worker's COMMIT done, its answer cut off"
    case commitSilenced = "worker's COMMIT into a half-open connection"
    case receiptNotDelivered = "ingest's receive cut off before it arrived"
    case receiptUnanswered = "ingest's receive done, its answer cut off"
    case receiptHalfAnswered = "ingest's receive done, its answer cut in two"
    case receiptSilenced = "ingest's receive into a half-open connection"
    case receiptDoneAndSilenced = "ingest's receive done, its answer dropped"
    case answersDelayed = "answers delayed"
    case connectionsCut = "all connections cut"
    case connectionsSilenced = "connections half-open for a while"
    case connectionsUnanswered = "new connections never answered"

    // Store and senders.
    case clockAhead = "the store's clock ahead"
    case clockBehind = "the store's clock behind"
    case senderAborted = "a sender closed its connection"
    case poisonAccepted = "a poison event accepted"

    /// `kill -9`.
    static let ofKills: [Fault] = [.workerKilled, .workerKilled, .ingestKilled]
    /// The other faults of daemons.
    static let ofDaemons: [Fault] = [.workerRestarted, .ingestRestarted, .workerStopped, .ingestStopped]
    static let ofServers: [Fault] = [.serverRestarted, .serverKilled, .sessionsTerminated, .slotsTaken, .standbyAway, .failover]
    static let ofConnections: [Fault] = [
        .commitNotDelivered, .commitUnanswered, .commitSilenced, .receiptNotDelivered, .receiptUnanswered, .receiptHalfAnswered,
        .receiptSilenced, .receiptDoneAndSilenced, .answersDelayed, .connectionsCut, .connectionsSilenced, .connectionsUnanswered,
    ]
    static let ofClocks: [Fault] = [.clockAhead, .clockBehind]
}
