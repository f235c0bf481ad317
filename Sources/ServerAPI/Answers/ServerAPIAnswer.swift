package import AppStore
import Outbox
import StrictJSON

/// An answer of the App Store Server API with a status of 2xx.
package struct ServerAPIAnswer: Sendable {
    package let status: Int
    /// Empty for some endpoints.
    package let body: [UInt8]
    /// When this process sent the request.
    package let askedAt: Timestamp
    let request: ServerAPIRequest

    package init(status: Int, body: [UInt8], askedAt: Timestamp, to request: ServerAPIRequest) {
        self.status = status
        self.body = body
        self.askedAt = askedAt
        self.request = request
    }
}

extension ServerAPIAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

/// An answer, taken apart: an event for each signed thing in it, and what paging and imports need.
package struct ServerAPIElements: Sendable {
    /// The bodies of events, in Apple's order; see ``AnswerElement``. Empty for an answer without anything signed.
    package let events: [[UInt8]]
    /// Whether a further page follows.
    package let hasMore: Bool
    /// The revision to ask for the next page, or later for changes; at most ``ServerAPIAnswer/maximumCursorBytes``.
    package let revision: String?
    package let bundleID: String
    package let environment: AppStoreEnvironment
    /// The originalTransactionIds that the answer names, each once, in its order. Only TLS vouches for them here.
    package let contracts: [String]
    /// Of an order look-up: 0 for a valid order, 1 for an invalid one.
    package let status: Int?
}

/// Why an answer cannot be taken apart; the raw value is a code for logs and reasons.
package enum ServerAPIAnswerFault: String, Error, CaseIterable, Sendable {
    /// No JSON object, or a member has the wrong type.
    case malformed = "malformed_answer"
    /// It names another app than the one that was asked about.
    case wrongBundle = "wrong_bundle"
    /// It names another environment than the one that was asked about.
    case wrongEnvironment = "wrong_environment"
    /// Its revision is too long for the URL of the next request.
    case longRevision = "revision_too_long"
}

extension ServerAPIAnswer {
    /// The longest token or revision that is taken from an answer. Percent-encoded it has up to three times as many bytes, and an
    /// ``Exchange`` sends URLs of up to 8192.
    package static let maximumCursorBytes = 2048

    /// The longest originalTransactionId that is taken from an answer; Apple's have some twenty digits.
    private static let maximumIDBytes = 255

    /// What is in the answer. An element that cannot be verified is no fault: the worker refuses its event alone.
    package func elements() throws(ServerAPIAnswerFault) -> ServerAPIElements {
        let content: AnswerContent
        do {
            content = AnswerContent(decoding: try JSONParser().parseObject(body))
        } catch {
            throw .malformed
        }
        // An element whose contract cannot be read is an event all the same.
        guard content.odd.first(named: AnswerContent.needed) == nil else { throw .malformed }
        let lane = request.lane
        guard content.bundleID.map({ $0 == lane.bundleID }) ?? true else { throw .wrongBundle }
        guard content.environment.map({ $0 == lane.environment }) ?? true else { throw .wrongEnvironment }
        guard content.revision.map({ $0.utf8.count <= Self.maximumCursorBytes }) ?? true else { throw .longRevision }
        var seen: Set<String> = []
        return ServerAPIElements(
            events: content.elements.map { AnswerElement.body(asked: asked, answer: $0.json) },
            hasMore: content.hasMore ?? false,
            revision: content.revision,
            bundleID: lane.bundleID,
            environment: lane.environment,
            contracts: content.elements.compactMap(\.originalTransactionID)
                .filter { $0.utf8.count <= Self.maximumIDBytes && seen.insert($0).inserted },
            status: content.status.map(Int.init)
        )
    }

    /// The question, as each event repeats it: a replay needs nothing else.
    private var asked: JSONObject {
        var asked: JSONObject = [
            "endpoint": .string(request.endpoint.rawValue), "environment": .string(request.lane.environment.rawValue),
            "bundleId": .string(request.lane.bundleID), "path": .array(request.path.map { .string($0) }),
            "at": .integer(askedAt.millisecondsSince1970),
        ]
        if !request.query.isEmpty { asked["query"] = .array(request.query.map { .array([.string($0.name), .string($0.value)]) }) }
        return asked
    }
}

/// The members of all answers with signed content; each endpoint has some of them.
private struct AnswerContent: PayloadObject {
    let bundleID: String?
    let environment: AppStoreEnvironment?
    let hasMore: Bool?
    let revision: String?
    let status: Int32?
    let elements: [SignedElement]

    /// What an answer is taken apart and checked by.
    static let needed = Set((Member.allCases.map(\.rawValue) + ["lastTransactions"]).filter { $0 != Member.status.rawValue })

    enum Member: String, CaseIterable {
        case bundleId, environment, hasMore, revision, status, data, signedTransactions, signedTransactionInfo, signedAppTransactionInfo
    }

    let odd: [MalformedPayload]

    init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        bundleID = members.string(.bundleId)
        environment = members.value(.environment)
        hasMore = members.bool(.hasMore)
        revision = members.string(.revision)
        status = members.integer32(.status)
        let groups: [SubscriptionGroup] = members.objects(.data) ?? []
        var elements = groups.flatMap(\.lastTransactions)
        let transactions = members.strings(.signedTransactions) ?? []
        for jws in transactions + [members.string(.signedTransactionInfo)].compactMap(\.self) {
            elements.append(SignedElement(signedTransactionInfo: jws))
        }
        if let jws = members.string(.signedAppTransactionInfo) {
            elements.append(SignedElement(decoding: ["signedAppTransactionInfo": .string(jws)]))
        }
        self.elements = elements
        odd = members.odd
    }
}

/// An entry of `data`.
private struct SubscriptionGroup: PayloadObject {
    let lastTransactions: [SignedElement]

    enum Member: String, CaseIterable { case lastTransactions }

    let odd: [MalformedPayload]

    init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        lastTransactions = members.objects(.lastTransactions) ?? []
        odd = members.odd
    }
}

/// One signed thing, with all its members.
private struct SignedElement: PayloadObject {
    let json: JSONObject
    let originalTransactionID: String?

    enum Member: String, CaseIterable { case originalTransactionId }

    let odd: [MalformedPayload]

    init(decoding json: JSONObject) {
        self.json = json
        var members = MemberReader<Member>(json)
        originalTransactionID = members.identifier(.originalTransactionId)
        odd = members.odd
    }

    init(signedTransactionInfo jws: String) {
        json = ["signedTransactionInfo": .string(jws)]
        odd = []
        originalTransactionID = Self.originalTransactionID(in: jws)
    }

    /// The contract that a transaction names; nil for what is no transaction.
    private static func originalTransactionID(in jws: String) -> String? {
        do {
            return Self(decoding: try JSONParser().parseObject(try CompactJWS(Array(jws.utf8)[...]).payload)).originalTransactionID
        } catch {
            return nil
        }
    }
}
