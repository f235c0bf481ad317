import AppStore
import FoundationEssentials
import Ledger
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

/// A notification that Apple lists, with its attempts to send it. Nothing in it is verified: the worker verifies the event that it becomes.
struct HistoryRecord: Sendable {
    let signedPayload: String
    /// As ``NotificationKey`` has it; of an unreadable payload derived from its text, so that it is stored once, and rejected.
    let uuid: UUID
    let signedAt: Timestamp?
    let firstAttempt: Timestamp?
    let lastAttempt: Timestamp?
    let attempts: Int
    let lastResult: String?
    /// Whether a server has answered one of the attempts with 200.
    let succeeded: Bool

    init(_ json: JSONValue, of lane: CallLane) throws(HistoryFault) {
        guard case .object(let record) = json, case .string(let signedPayload)? = record["signedPayload"] else { throw .malformed }
        self.signedPayload = signedPayload
        let payload = Self.payload(of: signedPayload)
        if let payload, !payload.isOf(lane) { throw .otherApp }
        uuid = UUID(notification: payload?.notificationUUID ?? signedPayload)
        signedAt = payload?.signedDate
        let attempts = Self.attempts(record["sendAttempts"])
        let sorted = attempts.sorted { $0.date < $1.date }
        firstAttempt = sorted.first?.date
        lastAttempt = sorted.last?.date
        self.attempts = attempts.count
        lastResult = sorted.last.map(\.result)
        succeeded = attempts.contains { $0.result == "SUCCESS" }
    }

    /// The body of its event, in the form in which Apple posts it.
    var eventBody: [UInt8] { JSONSerializer.serialize(["signedPayload": .string(signedPayload)] as JSONObject) }

    /// Those that can be read: an attempt of another form must keep no notification from the inbox.
    private static func attempts(_ json: JSONValue?) -> [(date: Timestamp, result: String)] {
        guard case .array(let elements)? = json else { return [] }
        return elements.compactMap { element in
            guard case .object(let attempt) = element, case .number(let number)? = attempt["attemptDate"], let date = Timestamp(number),
                case .string(let result)? = attempt["sendAttemptResult"]
            else { return nil }
            return (date, String(String.UnicodeScalarView(result.unicodeScalars.filter { (0x21...0x7E).contains($0.value) }.prefix(64))))
        }
    }

    private static func payload(of text: String) -> ResponseBodyV2DecodedPayload? {
        do {
            return ResponseBodyV2DecodedPayload(decoding: try JSONParser().parseObject(CompactJWS(Array(text.utf8)).payload))
        } catch {
            return nil
        }
    }
}

extension ResponseBodyV2DecodedPayload {
    /// Whether no part of it names another app or environment.
    fileprivate func isOf(_ lane: CallLane) -> Bool {
        let bundleIDs = [data?.bundleId, summary?.bundleId, externalPurchaseToken?.bundleId, appData?.bundleId]
        let environments = [data?.environment, summary?.environment, externalPurchaseToken?.environment, appData?.environment]
        return bundleIDs.allSatisfy { $0 == nil || $0 == lane.bundleID } && environments.allSatisfy { $0 == nil || $0 == lane.environment }
    }
}

/// Why an answer is no page: the window stays as it is and is asked for again.
enum HistoryFault: String, Error {
    /// The answer lacks a member, or one has another form.
    case malformed = "answer_malformed"
    /// A record is of another app or environment.
    case otherApp = "answer_of_another_app"
    /// There are more pages, and no token for them.
    case tokenMissing = "token_missing"
    /// The token of the next page is too long for a URL.
    case tokenLong = "token_too_long"
    /// The token of the next page is one of an earlier page, so that reading would not end.
    case tokenRepeated = "token_repeated"
}
