import AppStore
import Outbox
import ServerAPI
import StrictJSON

/// A window of Apple's notification history, leased by this process. Its request does not change while its pages are read.
struct HistoryWindow: Sendable {
    let id: Int64
    /// Names the lease.
    let epoch: Int64
    let lane: CallLane
    let isNear: Bool
    var start: Timestamp
    /// Not part of it.
    let end: Timestamp
    /// Of the next page; nil for the first one.
    var token: String?
    /// Whether all pages of a second walk were read, so that it only has to be compared.
    var isRead: Bool
    let isSecond: Bool
    var failures: Int

    var request: ServerAPIRequest {
        ServerAPIRequest(
            .notificationHistory,
            of: lane.bundleID,
            in: lane.environment,
            query: token.map { [.init("paginationToken", $0)] } ?? [],
            body: ["startDate": .integer(start.millisecondsSince1970), "endDate": .integer(end.millisecondsSince1970)]
        )
    }
}
