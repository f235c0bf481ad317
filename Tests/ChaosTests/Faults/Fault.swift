/// What happens to the installation while it works. Each is seen to have happened in every run.
enum Fault: String, CaseIterable, Sendable {
    // To the daemons: a kill every second or so.
    case workerKilled = "worker killed"
    case ingestKilled = "ingest killed"
    case workerRestarted = "worker told to end"
    case ingestRestarted = "ingest told to end"
    case workerStopped = "worker stopped for a while"
    case ingestStopped = "ingest stopped for a while"

    // To PostgreSQL.
    case serverRestarted = "PostgreSQL restarted"
    case serverKilled = "PostgreSQL killed"
    case sessionsTerminated = "sessions terminated"
    case slotsTaken = "all connections taken by others"
    case standbyAway = "standby away, waiting commits cancelled"
    case failover = "failover to the standby"

    // To their connections.
    case commitNotDelivered = "worker's COMMIT cut off before it arrived"
    case commitUnanswered = "worker's COMMIT done, its answer cut off"
    case commitSilenced = "worker's COMMIT into a half-open connection"
    case receiptNotDelivered = "ingest's receive cut off before it arrived"
    case receiptUnanswered = "ingest's receive done, its answer cut off"
    case receiptHalfAnswered = "ingest's receive done, its answer cut in two"
    case receiptSilenced = "ingest's receive into a half-open connection"
    case receiptDoneAndSilenced = "ingest's receive done, its answer swallowed"
    case answersDelayed = "answers delayed"
    case connectionsCut = "all connections cut"
    case connectionsSilenced = "connections half-open for a while"
    case connectionsStranded = "new connections never answered"

    // To the world.
    case clockAhead = "the store's clock ahead"
    case clockBehind = "the store's clock behind"
    case senderAborted = "a sender closed its connection"
    case poisonTaken = "an event that no merge takes"

    /// `kill -9`.
    static let ofKills: [Fault] = [.workerKilled, .workerKilled, .ingestKilled]
    /// What else comes over daemons.
    static let ofDaemons: [Fault] = [.workerRestarted, .ingestRestarted, .workerStopped, .ingestStopped]
    static let ofServers: [Fault] = [.serverRestarted, .serverKilled, .sessionsTerminated, .slotsTaken, .standbyAway, .failover]
    static let ofConnections: [Fault] = [
        .commitNotDelivered, .commitUnanswered, .commitSilenced, .receiptNotDelivered, .receiptUnanswered, .receiptHalfAnswered,
        .receiptSilenced, .receiptDoneAndSilenced, .answersDelayed, .connectionsCut, .connectionsSilenced, .connectionsStranded,
    ]
    static let ofClocks: [Fault] = [.clockAhead, .clockBehind]
}
