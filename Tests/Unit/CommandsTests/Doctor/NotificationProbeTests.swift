import AppStore
import Foundation
import Logging
import OpenSSL
import Outbox
import ServerAPI
import Synchronization
import Testing

@testable import Commands

/// What `doctor` says of Apple's way to the inbox, with an Apple that answers by script.
@Suite struct NotificationProbeTests {
    private static let lane = CallLane("com.example.a", .production)
    private static let uuid = UUID()

    /// A probe whose requests get these answers, by the end of their path and in order; the last one is repeated.
    private func probe(
        _ answers: [String: [(status: Int, body: String)]],
        timeout: Duration = .seconds(20),
        event: @escaping @Sendable (UUID, AppStoreEnvironment) async throws -> Int64? = { $0 == Self.uuid && $1 == .production ? 17 : nil }
    ) throws -> NotificationProbe {
        let id = APIKey.ID(issuer: "57246542-96fe-1a63-e053-0824d011072a", keyID: "KEY")
        let keys = APIKeys([APIKey(id: id, privateKey: try PrivateKey.generate(.p256))], lanes: [Self.lane])
        let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)
        let client = ServerAPIClient(
            keys: { keys },
            budget: UnlimitedBudget(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { now }
        )
        let script = Mutex(answers)
        let exchange = Exchange { request, _ in
            script.withLock { script in
                let end = String(request.url.split(separator: "/").last ?? "")
                guard var left = script[end], let next = left.first else { return .failure(.connectionFailed) }
                if left.count > 1 { left.removeFirst() }
                script[end] = left
                return .answer(HTTPAnswer(status: next.status, body: Array(next.body.utf8)))
            }
        }
        var probe = NotificationProbe(client: client, exchange: exchange, now: now, event: event)
        (probe.timeout, probe.pause) = (timeout, .milliseconds(1))
        return probe
    }

    private static let token = (status: 200, body: #"{"testNotificationToken":"t_1"}"#)
    private static let notYet = (status: 404, body: #"{"errorCode":4040008}"#)

    private static func status(_ results: String...) -> (status: Int, body: String) {
        let payload = Base64URL.encode(Array(#"{"notificationUUID":"\#(uuid.uuidString)"}"#.utf8))
        let attempts = results.enumerated().map { #"{"attemptDate":\#($0 + 9),"sendAttemptResult":"\#($1)"}"# }.joined(separator: ",")
        return (200, #"{"signedPayload":"e30.\#(String(decoding: payload, as: UTF8.self)).AA","sendAttempts":[\#(attempts)]}"#)
    }

    @Test func `a test that arrived names its event`() async throws {
        let probe = try probe(["test": [Self.token], "t_1": [Self.notYet, Self.status(), Self.status("SUCCESS")]])
        let found = await probe.test(Self.lane)
        #expect(found == .ok("com.example.a Production test", "sent by Apple with SUCCESS, and verified here as event 17"))
    }

    @Test(arguments: [("TLS_ISSUE", "certificate"), ("TIMED_OUT", "ingest"), ("SOCKET_ISSUE", "443"), ("TOMORROW", "logs")])
    func `what Apple could not deliver comes with its cure`(result: String, cure: String) async throws {
        let found = await (try probe(["test": [Self.token], "t_1": [Self.status("SUCCESS", result)]])).test(Self.lane)
        #expect(found.status == .failure && found.found == "Apple could not deliver it: \(result)" && found.remedy?.contains(cure) == true)
    }

    @Test func `a test that another server took, or of which Apple says nothing, is told`() async throws {
        let taken = await (try probe(["test": [Self.token], "t_1": [Self.status("SUCCESS")]], timeout: .milliseconds(60)) { _, _ in nil })
            .test(Self.lane)
        #expect(taken.status == .failure && taken.remedy?.contains("another server may have it") == true)
        let silent = await (try probe(["test": [Self.token], "t_1": [Self.notYet]], timeout: .milliseconds(60))).test(Self.lane)
        #expect(silent.status == .warning && silent.remedy == "run appstore-inbox apple ask test-status t_1")
        let noURL = await (try probe(["test": [(404, #"{"errorCode":4040007}"#)]])).test(Self.lane)
        #expect(noURL.status == .failure && noURL.remedy?.hasPrefix("set the URL in App Store Connect") == true)
        let away = await (try probe([:])).test(Self.lane)
        #expect(away.status == .warning && away.found.hasPrefix("not checked: no usable answer"))
    }

    @Test func `an outage of Apple while a test is followed is waited for, and its cure is told`() async throws {
        let answers = [(status: 503, body: ""), (status: 500, body: #"{"errorCode":5000001}"#), Self.status("SUCCESS")]
        let found = await (try probe(["test": [Self.token], "t_1": answers])).test(Self.lane)
        #expect(found.status == .ok)
        let silent = await (try probe(["test": [Self.token], "t_1": [answers[0]]], timeout: .milliseconds(60))).test(Self.lane)
        #expect(silent.remedy == "Apple has an outage: run this again later")
    }

    @Test func `the failures of the last hour are counted`() async throws {
        let none = await (try probe(["history": [(200, #"{"notificationHistory":[],"hasMore":false}"#)]])).lastHour(of: Self.lane)
        #expect(none == .ok("com.example.a Production last hour", "Apple could deliver each notification"))
        let record = #"{"signedPayload":"a","sendAttempts":[{"attemptDate":5,"sendAttemptResult":"TLS_ISSUE"}]}"#
        let some = await (try probe(["history": [(200, #"{"notificationHistory":[\#(record),\#(record)],"hasMore":true}"#)]]))
            .lastHour(of: Self.lane)
        #expect(some.status == .warning && some.found == "Apple could not deliver 2 or more, the first with TLS_ISSUE")
        #expect(some.remedy?.contains("certificate") == true)
    }
}
