import Outbox
import ServerAPI
import StrictJSON

/// A page of the answer of Get Notification History.
struct HistoryPage: Sendable {
    let records: [HistoryRecord]
    /// Of the next page; nil on the last one.
    let token: String?

    /// - Parameter tokens: those of the pages that were asked for.
    init(_ body: [UInt8], of lane: CallLane, after tokens: Set<String>) throws(HistoryFault) {
        let answer: JSONObject
        do { answer = try JSONParser().parseObject(body) } catch { throw .malformed }
        guard case .bool(let hasMore)? = answer["hasMore"], case .array(let elements) = answer["notificationHistory"] ?? .array([]) else {
            throw .malformed
        }
        records = try elements.map { element throws(HistoryFault) in try HistoryRecord(element, of: lane) }
        guard hasMore else {
            token = nil
            return
        }
        guard case .string(let next)? = answer["paginationToken"], !next.isEmpty, !next.hasNUL else { throw .tokenMissing }
        guard next.utf8.count <= ServerAPIAnswer.maximumCursorBytes else { throw .tokenLong }
        guard !tokens.contains(next) else { throw .tokenRepeated }
        token = next
    }
}
