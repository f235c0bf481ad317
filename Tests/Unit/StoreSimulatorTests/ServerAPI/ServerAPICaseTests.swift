import AppStore
import CorpusTesting
import Foundation
import StoreSimulator
import StrictJSON
import Testing

/// The requests and answers that are collected from Apple's libraries, and the edges of our own, against the simulated API.
///
/// Skipped without the folder that `APPSTORE_INBOX_CORPUS` names.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS names no folder"))
struct ServerAPICaseTests {
    private struct Case {
        let name: String
        let json: JSONObject
        var isOurs: Bool { json["origin"]?.string == "own" }
        var answer: JSONObject { json["answer"]?.object ?? [:] }
        var method: String? { json["request"]?.object?["method"]?.string }
        var path: String? { json["request"]?.object?["path"]?.string }
    }

    private static func cases() throws -> [Case] {
        let file = try JSONParser().parseObject(try Corpus.bytes("api/cases.json"))
        return (file["cases"]?.list ?? []).compactMap(\.object).map { Case(name: $0["name"]?.string ?? "", json: $0) }
    }

    private static func fixture(_ name: String) throws -> JSONObject {
        try JSONParser().parseObject(try Corpus.bytes("apple-fixtures/models/\(name).json"))
    }

    /// APIs that are not simulated.
    private static func isForeign(_ path: String) -> Bool {
        path.contains("/messaging/") || path.hasPrefix("/advancedCommerce/") || path.hasPrefix("/externalPurchase/")
            || path.hasSuffix("/finish")
    }

    @Test func `every request that Apple's libraries make has an endpoint`() throws {
        var found: Set<ServerAPIEndpoint> = []
        for example in try Self.cases() {
            guard let method = example.method, let path = example.path, !Self.isForeign(path) else { continue }
            let endpoint = ServerAPIEndpoint.route(method, path)?.endpoint
            #expect(endpoint != nil, "\(example.name)")
            if let endpoint { found.insert(endpoint) }
        }
        // The collected libraries are older than groups of seats.
        #expect(found == Set(ServerAPIEndpoint.allCases).subtracting([.customerGroups, .groupMembers, .seatInfo]))
    }

    @Test func `answers have the members of Apple's`() throws {
        var scene = try APIScene()
        let (subscriber, buyer) = (try scene.subscriber(), try scene.buyer(25))
        var refunded = buyer
        _ = try refunded.refund(buyer.chargeIDs[0])
        scene.api.hold(refunded, at: scene.now)
        scene.now = scene.now.advanced(by: .seconds(1))
        let (id, contract) = (buyer.chargeIDs[0], try #require(subscriber.subscription))
        let end = scene.now.millisecondsSince1970
        let window: JSONObject = ["startDate": .integer(end - 86_400_000 * 2), "endDate": .integer(end)]
        let extend: JSONObject = [
            "extendByDays": 45, "extendReasonCode": 1, "requestIdentifier": "a", "productId": .string(contract.current.product.id),
        ]
        let test = try #require(try scene.ask("POST", "/inApps/v1/notifications/test").json["testNotificationToken"]?.string)
        let sent = try #require(scene.api.takeUnsent().first).notification.notificationUUID
        scene.api.record(PushAttempt(date: scene.now, result: .success), of: sent, at: APIScene.place)
        let requests: [(String, String, String, JSONObject?)] = [
            ("transactionInfoResponse", "GET", "/inApps/v1/transactions/\(id)", nil),
            ("transactionHistoryResponse", "GET", "/inApps/v2/history/\(id)", nil),
            ("getAllSubscriptionStatusesResponse", "GET", "/inApps/v1/subscriptions/\(contract.originalTransactionID)", nil),
            ("appTransactionInfoResponse", "GET", "/inApps/v1/transactions/appTransactions/\(id)", nil),
            ("getRefundHistoryResponse", "GET", "/inApps/v2/refund/lookup/\(id)", nil),
            ("lookupOrderIdResponse", "GET", "/inApps/v1/lookup/\(SimulatedServerAPI.orderID(of: buyer.oneTimeCharges[0]))", nil),
            ("extendSubscriptionRenewalDateResponse", "PUT", "/inApps/v1/subscriptions/extend/\(contract.originalTransactionID)", extend),
            ("extendRenewalDateForAllActiveSubscribersResponse", "POST", "/inApps/v1/subscriptions/extend/mass", extend),
            (
                "getStatusOfSubscriptionRenewalDateExtensionsResponse", "GET",
                "/inApps/v1/subscriptions/extend/mass/\(contract.current.product.id)/a", nil
            ),
            ("requestTestNotificationResponse", "POST", "/inApps/v1/notifications/test", nil),
            ("getTestNotificationStatusResponse", "GET", "/inApps/v1/notifications/test/\(test)", nil),
            ("getNotificationHistoryResponse", "POST", "/inApps/v1/notifications/history", window),
        ]
        for (file, method, target, body) in requests {
            let answer = try scene.ask(method, target, body)
            #expect(answer.status == 200, "\(file)")
            let apple = try Self.fixture(file)
            #expect(Self.shape(.object(answer.json)) == Self.shape(.object(apple)), "\(file)")
        }
    }

    /// The paths of all members.
    private static func shape(_ value: JSONValue, _ path: String = "") -> Set<String> {
        switch value {
        case .object(let object): object.members.reduce(into: []) { $0.formUnion(shape($1.value, "\(path).\($1.name)")) }
        case .array(let elements): elements.reduce(into: [path]) { $0.formUnion(shape($1, path)) }
        case .null, .bool, .number, .string: [path]
        }
    }

    @Test func `errors have Apple's codes and messages`() throws {
        var scene = try APIScene()
        var life = try scene.subscriber()
        _ = try life.renew()
        scene.api.hold(life, at: scene.now, hasAppTransaction: false)
        var member = scene.store.makeFamilyMember(of: life)
        _ = try member.subscribe()
        scene.api.hold(member, at: scene.now)
        let (contract, shared) = (try #require(life.subscription), try #require(member.subscription).originalTransactionID)
        let token: JSONObject = ["appAccountToken": "7389a31a-fb6d-4569-a2a6-db7d85d84813"]
        let requests: [(String, String, String, JSONObject?)] = [
            ("invalidTransactionIdError", "GET", "/inApps/v1/transactions/appTransactions/invalid_id", nil),
            ("transactionIdNotFoundError", "GET", "/inApps/v1/transactions/appTransactions/1", nil),
            ("appTransactionDoesNotExistError", "GET", "/inApps/v1/transactions/appTransactions/\(life.appTransactionID)", nil),
            ("invalidAppAccountTokenUUIDError", "PUT", "/inApps/v1/transactions/\(contract.originalTransactionID)/appAccountToken", [:]),
            ("familyTransactionNotSupportedError", "PUT", "/inApps/v1/transactions/\(shared)/appAccountToken", token),
            (
                "transactionIdNotOriginalTransactionId", "PUT",
                "/inApps/v1/transactions/\(contract.current.transactionID)/appAccountToken", token
            ),
        ]
        let cases = try Self.cases()
        for (file, method, target, body) in requests {
            let answer = try scene.ask(method, target, body)
            #expect(answer.json == (try Self.fixture(file)), "\(file)")
            let example = cases.first { $0.answer["file"]?.string == "\(file).json" }
            #expect(example?.answer["status"]?.integer == Int64(answer.status), "\(file)")
        }
        scene.api.limits.allowances[.testNotification] = 0
        #expect(try scene.ask("POST", "/inApps/v1/notifications/test").json == Self.fixture("apiTooManyRequestsException"))
    }

    /// The fault or setting that makes each answer of our own.
    private static let recipes: [String: ServerAPIFault] = [
        "401 with empty body": .unauthorized,
        "retryable 404": .error(4_040_002),
        "no such customer": .error(4_040_001),
        "wrong environment": .error(4_040_010),
        "404 without a code": .page(status: 404),
        "429 of a proxy": .page(status: 429),
        "no notification address": .error(4_040_007),
        "test not there yet": .error(4_040_008),
        "empty page with more": .emptyPage,
        "the same token again": .repeatedToken,
        "more, and no token": .withoutToken,
        "last page with a token": .member("paginationToken", "t9"),
        "hasMore missing": .member("hasMore", nil),
        "no list": .member("notificationHistory", nil),
        "token expired": .error(4_000_017),
        "token invalid": .error(4_000_014),
        "window too old": .error(4_000_012),
        "record without payload": .member("notificationHistory", [["sendAttempts": []]]),
        "unknown send result": .unknownValues,
        "revision without progress": .repeatedToken,
        "revision refused": .error(4_000_005),
        "statuses, other app": .member("bundleId", "com.other"),
        "statuses, unknown status": .unknownValues,
        "broken off": .manner(.cut(after: 100)),
        "too large": .padded(to: 5_000_000),
        "503 in HTML": .page(status: 503, retryAfter: "30"),
        "redirect": .redirect(to: "https://elsewhere.example/"),
        "consent missing": .error(4_000_035),
        "percentage of a subscription": .error(4_000_209),
    ]
    /// Cases that other tests make with settings and bodies: limits, the last revision, a lagging replica, a good answer.
    private static let elsewhere: Set<String> = [
        "429 in milliseconds", "429 in milliseconds, past", "429 in seconds", "429 nonsense", "the last revision again",
        "statuses, status against signed words", "empty 202",
    ]

    @Test func `every edge of our own can be made`() throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        scene.now = scene.now.advanced(by: .seconds(1))
        let end = scene.now.millisecondsSince1970
        let window: JSONObject = ["startDate": .integer(end - 86_400_000), "endDate": .integer(end)]
        for example in try Self.cases() where example.isOurs && !Self.elsewhere.contains(example.name) {
            guard let fault = Self.recipes[example.name] else {
                Issue.record("\(example.name): no fault makes it")
                continue
            }
            scene.api.faults.removeAll()
            scene.api.faults.add(fault)
            let isStatus = example.name.hasPrefix("statuses")
            let isRevision = example.name.hasPrefix("revision")
            let target = isStatus ? "subscriptions/\(life.chargeIDs[0])" : "notifications/history"
            let answer =
                isRevision
                ? try scene.ask("GET", "/inApps/v2/history/\(life.chargeIDs[0])")
                : try scene.ask(isStatus ? "GET" : "POST", "/inApps/v1/\(target)", isStatus ? nil : window)
            #expect(Int64(answer.status) == example.answer["status"]?.integer, "\(example.name)")
            guard let body = example.answer["body"]?.object else { continue }
            #expect(answer.code == body["errorCode"]?.integer, "\(example.name)")
            #expect(answer.json["hasMore"]?.bool == body["hasMore"]?.bool || body["errorCode"] != nil, "\(example.name)")
        }
    }
}
