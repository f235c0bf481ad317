import Outbox
import ServerAPI

/// A part of an import, leased by this process: items of one app and environment, each to be asked.
struct ImportChunk: Sendable {
    enum Depth: String, CaseIterable, Sendable {
        /// What customers may use today.
        case statuses
        /// All their transactions.
        case history
    }

    /// An id of the file.
    struct Item: Hashable, Sendable {
        let line: Int32
        let id: String
        /// From where its transaction history is asked; nil for all of it.
        var revision: String?
        /// Whether only this environment is asked.
        let isGiven: Bool
    }

    let importID: Int32
    /// With the import the name of the chunk.
    let firstLine: Int32
    /// Names the lease.
    let epoch: Int64
    let lane: ImportLane
    /// Leases in a row that failed.
    let failures: Int
    let items: [Item]

    func request(_ item: Item) -> ServerAPIRequest {
        switch lane.depth {
        case .statuses: ServerAPIRequest(.subscriptionStatuses, of: lane.app.bundleID, in: lane.app.environment, path: [item.id])
        case .history:
            ServerAPIRequest(
                .transactionHistory,
                of: lane.app.bundleID,
                in: lane.app.environment,
                path: [item.id],
                query: item.revision.map { [.init("revision", $0)] } ?? []
            )
        }
    }
}
