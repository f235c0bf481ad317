import AppStore
package import AppStoreVerification
import StrictJSON

/// Asks Apple's verifyReceipt about receipts in the inbox.
package struct VerifyReceiptCallHandler: PlainCallHandler {
    /// The kind of such calls, and the source of their answers in the inbox.
    package static let kind = EventSource.verifyReceipt.rawValue

    package var kinds: [String] { [Self.kind] }
    package let slots: Int
    /// The apps that have a shared secret. Production is asked first about every receipt.
    package var lanes: Set<CallLane> { Set(secrets().counts.keys.map { CallLane($0, .production) }) }
    private let addresses: VerifyReceiptAddresses
    private let secrets: @Sendable () -> SharedSecrets
    private let receiptData: @Sendable (LeasedCall.Event) -> String?

    /// - Parameters:
    ///   - slots: the most attempts at once, at least 1.
    ///   - secrets: the shared secrets, asked for at each attempt. Those of an app are tried in their order.
    ///   - receiptData: the receipt in base64 in the call's event; nil when there is none.
    package init(
        slots: Int = 4,
        addresses: VerifyReceiptAddresses = VerifyReceiptAddresses(),
        secrets: @escaping @Sendable () -> SharedSecrets,
        receiptData: @escaping @Sendable (LeasedCall.Event) -> String?
    ) {
        self.slots = slots
        self.addresses = addresses
        self.secrets = secrets
        self.receiptData = receiptData
    }

    package func attempt(_ call: LeasedCall) -> any CallAttempt {
        VerifyReceiptAttempt(
            receiptData: call.event.flatMap(receiptData),
            secrets: secrets().secrets(of: call.bundleID),
            addresses: addresses
        )
    }
}

/// One attempt at verifyReceipt: production first, then the host that it names, each at most once. When Apple does not know a secret, the
/// app's next one is tried.
struct VerifyReceiptAttempt: CallAttempt {
    /// The largest body in the inbox.
    static let maximumAnswerBytes = 4 * 1024 * 1024

    private let receiptData: String?
    private let secrets: [String]
    private let addresses: VerifyReceiptAddresses
    private var host = VerifyReceiptHost.production
    private var askedHosts: Set<VerifyReceiptHost> = [.production]
    private var secretIndex = 0

    init(receiptData: String?, secrets: [String], addresses: VerifyReceiptAddresses) {
        self.receiptData = receiptData
        self.secrets = secrets
        self.addresses = addresses
    }

    mutating func next(after outcome: ExchangeOutcome?) -> CallStep {
        switch outcome {
        case nil: return ask()
        case .failure(.answerTooLarge): return .finish(.refused(reason: ExchangeFailure.answerTooLarge.rawValue))
        case .failure(let failure): return .finish(.later(reason: failure.rawValue))
        case .answer(let answer) where answer.status == 200: return react(to: answer)
        case .answer(let answer): return .finish(Self.result(of: answer))
        }
    }

    private func ask() -> CallStep {
        guard let receiptData else { return .finish(.refused(reason: "receipt_gone")) }
        // Only calls of apps with a secret are leased. If the secret has been removed since, another worker may have it.
        guard secrets.indices.contains(secretIndex) else {
            return .finish(.later(reason: "no_shared_secret", notBefore: .seconds(60)))
        }
        let question: JSONObject = [
            "receipt-data": .string(receiptData), "password": .string(secrets[secretIndex]), "exclude-old-transactions": .bool(false),
        ]
        return .send(
            OutboundRequest(
                .post,
                addresses.url(of: host),
                headers: [("content-type", "application/json"), ("accept", "application/json"), ("user-agent", "appstore-inbox")],
                body: JSONSerializer.serialize(question),
                maximumAnswerBytes: Self.maximumAnswerBytes
            )
        )
    }

    private mutating func react(to answer: HTTPAnswer) -> CallStep {
        guard let (status, reaction) = Self.status(of: answer.body) else {
            return .finish(.later(reason: "answer_malformed", atMost: 5, notBefore: answer.secondsToWait))
        }
        let reason = "status_\(status.rawValue)"
        switch reaction {
        case .accept: return .finish(.answered([Self.naming(host, in: answer.body)]))
        case .askSandbox: return redirect(to: .sandbox, reason)
        case .askProduction: return redirect(to: .production, reason)
        case .retry(let atMost): return .finish(.later(reason: reason, atMost: atMost, notBefore: answer.secondsToWait))
        case .giveUp where status == .wrongSharedSecret && secrets.indices.contains(secretIndex + 1):
            secretIndex += 1
            return ask()
        case .giveUp where status.deniesReceipt: return .finish(.denied(reason: reason))
        case .giveUp: return .finish(.refused(reason: reason))
        }
    }

    /// The status of an answer; nil when the body is no object with a status. The worker interprets the other members, from the inbox.
    private static func status(of body: [UInt8]) -> (VerifyReceiptStatus, VerifyReceiptStatus.Reaction)? {
        let deciding: [VerifyReceiptResponse.Member] = [.status, .isRetryable, .isRetryableWithUnderscore]
        do {
            let answer = try JSONParser().parseObject(body)
            let members = deciding.compactMap { member in answer[member.rawValue].map { (member.rawValue, $0) } }
            let response = VerifyReceiptResponse(decoding: JSONObject(members))
            return response.status.map { ($0, response.reaction) }
        } catch {
            return nil
        }
    }

    /// Adds the environment to an answer that names none, as those about iOS 6 style receipts: only the host that accepts a receipt knows it.
    private static func naming(_ host: VerifyReceiptHost, in body: [UInt8]) -> [UInt8] {
        do {
            guard try JSONParser().parseObject(body)[VerifyReceiptResponse.Member.environment.rawValue] == nil,
                let start = body.firstIndex(of: UInt8(ascii: "{"))
            else { return body }
            let member = "\"environment\":\"\(host.environment.rawValue)\","
            return Array(body[...start]) + Array(member.utf8) + Array(body[(start + 1)...])
        } catch {
            // It was parsed before; the worker that reads it from the inbox records what is wrong.
            return body
        }
    }

    /// Asks each host once, because two hosts that name each other would loop.
    private mutating func redirect(to other: VerifyReceiptHost, _ reason: String) -> CallStep {
        guard askedHosts.insert(other).inserted else { return .finish(.refused(reason: reason)) }
        host = other
        return ask()
    }

    /// verifyReceipt itself always answers with HTTP status 200: other statuses come from the network.
    private static func result(of answer: HTTPAnswer) -> CallResult {
        let isTemporary = [408, 425, 429].contains(answer.status) || (500...599).contains(answer.status)
        return .later(reason: "http_\(answer.status)", atMost: isTemporary ? nil : 5, notBefore: answer.secondsToWait)
    }
}

extension HTTPAnswer {
    /// Retry-After, if it is a number of seconds.
    fileprivate var secondsToWait: Duration? { retryAfter.flatMap { Int64($0) }.map { .seconds(min(max($0, 0), 86_400)) } }
}

extension VerifyReceiptAttempt: CustomStringConvertible, CustomReflectable {
    /// Shows neither the receipt nor a secret.
    var description: String { "an attempt at \(host.rawValue)" }
    var customMirror: Mirror { Mirror(self, children: ["host": host.rawValue]) }
}

/// The two hosts of verifyReceipt; the raw value is the name in settings and logs.
private enum VerifyReceiptHost: String, Sendable {
    case production, sandbox

    /// The environment whose receipts it accepts.
    var environment: AppStoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}

/// The addresses of verifyReceipt.
package struct VerifyReceiptAddresses: Hashable, Sendable {
    package var production = "https://buy.itunes.apple.com/verifyReceipt"
    package var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"

    package init() {}

    fileprivate func url(of host: VerifyReceiptHost) -> String {
        switch host {
        case .production: production
        case .sandbox: sandbox
        }
    }
}
