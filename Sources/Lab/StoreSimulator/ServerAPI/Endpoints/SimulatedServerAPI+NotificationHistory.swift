import AppStore
import OpenSSL
import StrictJSON

/// Notification History.
extension SimulatedServerAPI {
    func notificationHistory(_ task: ServerAPITask) throws -> JSONObject {
        let query = try HistoryQuery(task.request.members(), at: task.now)
        guard query.start >= options.earliestStart(in: task.place.environment, at: task.now) else { throw ServerAPIError.startDateTooOld }
        let books = places[task.place] ?? ServerAPIBooks()
        let customer = try query.transactionID.map { id throws(ServerAPIError) in
            guard let owner = books.owners[id] else { throw ServerAPIError.transactionNotFound }
            return owner
        }
        let token = try task.request.values("paginationToken").first.map { text throws(ServerAPIError) in
            try HistoryToken(text, query, at: task.now, lifetime: options.tokenLifetime)
        }
        if task.fault == .emptyPage {
            let again = HistoryToken(token?.position ?? query.first, query, at: task.now, empties: (token?.empties ?? 0) + 1)
            return ["notificationHistory": [], "hasMore": true, "paginationToken": .string(again.text)]
        }
        let found = books.pushes.page(
            options.pageSize + 1,
            from: query.start,
            until: query.end,
            behind: token?.position,
            datedBy: options.historyDate,
            where: { $0.isListed(at: task.now) && query.matches($0, of: customer, at: task.now) }
        )
        let page = found.prefix(options.pageSize)
        let hasMore = found.count > page.count
        var answer: JSONObject = [
            "notificationHistory": .array(page.map { .object($0.record.json($0.record.attempts(until: task.now).suffix(6))) }),
            "hasMore": .bool(hasMore),
        ]
        if hasMore, let last = page.last { answer["paginationToken"] = .string(HistoryToken(last.position, query, at: task.now).text) }
        return answer
    }
}

/// A pagination token: a position, the time it was made, and the body it is for.
private struct HistoryToken {
    let position: PushRecords.Position
    /// How many empty pages led to this one, so that their tokens differ.
    let empties: Int
    let text: String

    init(_ position: PushRecords.Position, _ query: HistoryQuery, at now: Timestamp, empties: Int = 0) {
        let words = "\(position.date.millisecondsSince1970) \(position.number) \(now.millisecondsSince1970) \(query.mark) \(empties)"
        (self.position, self.empties) = (position, empties)
        text = String(decoding: Base64URL.encode(Array(words.utf8)), as: UTF8.self)
    }

    init(_ text: String, _ query: HistoryQuery, at now: Timestamp, lifetime: Duration) throws(ServerAPIError) {
        let words = String(decoding: Base64URL.decode(Array(text.utf8)) ?? [], as: UTF8.self).split(separator: " ")
        guard words.count == 5, let date = Int64(words[0]), let number = Int(words[1]), let madeAt = Int64(words[2]),
            let empties = Int(words[4])
        else { throw .paginationToken }
        guard words[3] == query.mark, now < Timestamp(millisecondsSince1970: madeAt).advanced(by: lifetime) else {
            throw .paginationTokenExpired
        }
        (self.text, self.empties) = (text, empties)
        position = PushRecords.Position(date: Timestamp(millisecondsSince1970: date), number: number)
    }
}

/// The body of a request for notification history.
private struct HistoryQuery {
    let start: Timestamp
    let end: Timestamp
    let transactionID: String?
    private let type: NotificationTypeV2?
    private let subtype: Subtype?
    private let onlyFailures: Bool
    /// The position before all records of the window.
    var first: PushRecords.Position { PushRecords.Position(date: start, number: -1) }
    /// The body's digest, which is the same for equal members in any order.
    let mark: String

    init(_ body: JSONObject, at now: Timestamp) throws(ServerAPIError) {
        guard let start = body["startDate"]?.integer, start >= 0 else { throw .startDate }
        guard let end = body["endDate"]?.integer, end >= 0 else { throw .endDate }
        self.start = Timestamp(millisecondsSince1970: start)
        self.end = min(Timestamp(millisecondsSince1970: end), now)
        guard self.start <= self.end else { throw .startDateAfterEndDate }
        let type = try Self.text("notificationType", of: body, otherwise: .notificationType).map { NotificationTypeV2(rawValue: $0) }
        let subtype = try Self.text("notificationSubtype", of: body, otherwise: .notificationType).map { Subtype(rawValue: $0) }
        let id = try Self.text("transactionId", of: body, otherwise: .transactionID)
        if type != nil, id != nil { throw .multipleFilters }
        transactionID = try id.map { text throws(ServerAPIError) in try SimulatedServerAPI.transactionID(text) }
        guard type.map({ Self.isDocumented($0, subtype) }) ?? (subtype == nil) else { throw .notificationType }
        (self.type, self.subtype) = (type, subtype)
        guard let failures = (body["onlyFailures"] ?? false).flag else { throw .badRequest }
        onlyFailures = failures
        let members = body.members.sorted { $0.name < $1.name }.map { ($0.name, $0.value) }
        mark = String(
            decoding: Base64URL.encode(Array(Digest.sha256(JSONSerializer.serialize(JSONObject(members))).prefix(9))),
            as: UTF8.self
        )
    }

    private static func text(_ name: String, of body: JSONObject, otherwise error: ServerAPIError) throws(ServerAPIError) -> String? {
        guard let value = body[name], value != .null else { return nil }
        guard let text = value.text else { throw error }
        return text
    }

    private static func isDocumented(_ type: NotificationTypeV2, _ subtype: Subtype?) -> Bool {
        NotificationMatrix.pairs.contains { $0.type == type && (subtype == nil || $0.subtype == subtype) }
    }

    func matches(_ record: PushRecord, of customer: String?, at now: Timestamp) -> Bool {
        (type == nil || type == record.type) && (subtype == nil || subtype == record.subtype)
            && (customer == nil || customer == record.customer) && (!onlyFailures || record.hasFailed(at: now))
    }
}
