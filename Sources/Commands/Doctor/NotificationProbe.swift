import AppStore
import FoundationEssentials
import Outbox
import Postgres
import ServerAPI
import ServiceSupport
import StrictJSON

/// Asks Apple how it delivers the notifications of an app: those of the last hour, and a test that goes to the URL, into the inbox and through
/// a worker. It reads what Apple signed without verifying it; a worker has verified an event that it finds.
struct NotificationProbe: Sendable {
    let client: ServerAPIClient
    let exchange: Exchange
    let now: Timestamp
    /// The event of a notification that a worker has verified; nil while there is none.
    let event: @Sendable (UUID, AppStoreEnvironment) async throws -> Int64?
    /// How long to wait for a test.
    var timeout = Duration.seconds(60)
    /// Between two questions; Apple allows one a second.
    var pause = Duration.seconds(2)

    /// What Apple could not deliver in the last hour.
    func lastHour(of lane: CallLane) async -> Finding {
        let subject = "\(lane.bundleID) \(lane.environment.rawValue) last hour"
        let end = now.millisecondsSince1970
        let body: JSONObject = ["startDate": .integer(end - 3_600_000), "endDate": .integer(end), "onlyFailures": true]
        let request = ServerAPIRequest(.notificationHistory, of: lane.bundleID, in: lane.environment, body: body)
        switch await client.send(request, class: .interactive, through: exchange) {
        case .answered(let answer):
            guard let page = Self.object(answer.body) else { return Self.unreadable(subject) }
            let failed = page.rows("notificationHistory")
            guard let first = failed.first else { return .ok(subject, "Apple could deliver each notification") }
            let result = Self.lastResult(first) ?? "no attempt"
            let count = "\(failed.count)\(page["hasMore"] == .bool(true) ? " or more" : "")"
            return .warning(subject, "Apple could not deliver \(count), the first with \(result)", Self.cure(result))
        case let other: return finding(subject, other, lane)
        }
    }

    /// Sends a test, and follows it.
    func test(_ lane: CallLane) async -> Finding {
        let subject = "\(lane.bundleID) \(lane.environment.rawValue) test"
        let request = ServerAPIRequest(.testNotification, of: lane.bundleID, in: lane.environment)
        switch await client.send(request, class: .deadline, through: exchange) {
        case .answered(let answer):
            guard let token = Self.object(answer.body)?.word("testNotificationToken") else { return Self.unreadable(subject) }
            return await follow(token, lane, subject)
        case let other: return finding(subject, other, lane)
        }
    }

    private func follow(_ token: String, _ lane: CallLane, _ subject: String) async -> Finding {
        let deadline = ContinuousClock.now + timeout
        let request = ServerAPIRequest(.testStatus, of: lane.bundleID, in: lane.environment, path: [token])
        var (sent, isLast): (Sent?, Bool) = (nil, false)
        var unusable: ServerAPIResult?
        while true {
            if sent?.result == nil {
                switch await client.send(request, class: .deadline, through: exchange) {
                case .answered(let answer): sent = Self.object(answer.body).flatMap(Sent.init)
                case .later(let delay) where delay.reason == "apple_4040008": unusable = nil
                case .later(let delay): unusable = .later(delay)
                case let other: return finding(subject, other, lane)
                }
            }
            if let result = sent?.result, result != Self.success {
                return .failure(subject, "Apple could not deliver it: \(result)", Self.cure(result))
            }
            do {
                if let sent, sent.result != nil, let event = try await event(sent.uuid, lane.environment) {
                    return .ok(subject, "sent by Apple with \(Self.success), and verified here as event \(event)")
                }
            } catch {
                return .unknown(subject, "\(error)", "remove the cause, then run this again")
            }
            guard !isLast else { break }
            await Task.rest(for: pause)
            isLast = ContinuousClock.now >= deadline
        }
        guard sent?.result != nil else {
            if let unusable { return finding(subject, unusable, lane) }
            return .unknown(
                subject,
                "Apple has not said within \(timeout.inWords) how its attempt ended",
                "run appstore-inbox apple ask test-status \(token)"
            )
        }
        return .failure(
            subject,
            "Apple says \(Self.success), and no worker has verified it within \(timeout.inWords)",
            """
            compare the URL in App Store Connect: another server may have it; else see the due events above, and SELECT * FROM appstore.outcomes \
            WHERE result = 'rejected' ORDER BY settled_at DESC LIMIT 5
            """
        )
    }

    static let success = "SUCCESS"

    private struct Sent {
        let uuid: UUID
        /// Of the latest attempt.
        let result: String?

        init?(_ status: JSONObject) {
            guard let jws = status.word("signedPayload"), let uuid = NotificationProbe.uuid(jws) else { return nil }
            self.uuid = uuid
            result = NotificationProbe.lastResult(status)
        }
    }

    private static func lastResult(_ record: JSONObject) -> String? {
        let date = { (attempt: JSONObject) in attempt.word("attemptDate").flatMap { Int64($0) } ?? 0 }
        return record.rows("sendAttempts").max { date($0) < date($1) }?.word("sendAttemptResult")
    }

    private static func uuid(_ jws: String) -> UUID? {
        do {
            let payload = try JSONParser().parseObject(try CompactJWS(Array(jws.utf8)).payload)
            return payload.word("notificationUUID").flatMap(UUID.init(uuidString:))
        } catch {
            return nil
        }
    }

    private static func object(_ body: [UInt8]) -> JSONObject? {
        do { return try JSONParser().parseObject(body) } catch { return nil }
    }

    private static func unreadable(_ subject: String) -> Finding {
        .unknown(subject, "Apple's answer cannot be read", "update the program, or ask Apple's support")
    }

    /// What a result says that is no answer.
    private func finding(_ subject: String, _ result: ServerAPIResult, _ lane: CallLane) -> Finding {
        switch result {
        case .refused(let refusal) where refusal.code == .notificationURLNotFound:
            let cure = "set the URL in App Store Connect: App Information, App Store Server Notifications, version 2"
            return .failure(subject, "Apple knows no URL for notifications (4040007)", cure)
        case .refused(let refusal):
            let name = refusal.code.name ?? "a code that Apple does not document"
            return .warning(subject, "refused with \(refusal.code.rawValue), \(name)", "update the program, or ask Apple's support")
        case .later(let delay) where ["rate_limited", "budget"].contains(delay.reason):
            return .unknown(subject, "Apple's limit is exceeded", "run this again in an hour")
        case .answered: return .unknown(subject, "interrupted", "run this again")
        case .later, .shuttingDown: return DoctorCheck.finding(subject, result, lane, client)
        }
    }

    /// What helps against Apple's sendAttemptResult.
    private static func cure(_ result: String) -> String {
        let url = "appstore-inbox doctor --url tests the way in"
        switch result {
        case "TLS_ISSUE":
            return
                "correct the certificate of the URL: it must be valid, name the host, come with its intermediates, and speak TLS 1.2; \(url)"
        case "TIMED_OUT", "NO_RESPONSE":
            return "let the proxy and ingest answer within seconds: is ingest running and its database writable? \(url)"
        case "SOCKET_ISSUE": return "let Apple's addresses reach port 443 of the URL through firewall and proxy; \(url)"
        case "CIRCULAR_REDIRECT": return "let the proxy pass the URL on without a redirect; \(url)"
        case "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE":
            return "let nothing change or cut off the answers of ingest, such as a proxy or a filter; \(url)"
        case "UNSUCCESSFUL_HTTP_RESPONSE_CODE": return "see in the logs of the proxy and of ingest with what they answered; \(url)"
        case success: return "nothing: a later attempt was delivered"
        default: return "see the logs of the proxy and of ingest; \(url)"
        }
    }
}

extension ServerAPIDelay {
    /// What helps where Apple gave no usable answer.
    var cure: String {
        if reason.hasPrefix("http_5") || reason.hasPrefix("apple_5") { return "Apple has an outage: run this again later" }
        if reason.hasPrefix("answer_") || reason.hasPrefix("http_") {
            return "another server answers in Apple's place: let this machine reach Apple past the proxy"
        }
        return "let this machine reach Apple by HTTPS; then run this again"
    }
}
