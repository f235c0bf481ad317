import AppStore
import Outbox
import ServerAPI
import StrictJSON

/// One attempt at a call that asks the App Store Server API: one page of the answer. The call remembers the revision of the next one, so that
/// a page is in memory at a time, and a crash repeats one at most.
struct InquiryAttempt: ServerAPIAttempt {
    /// The most pages of an answer, with 20 transactions each.
    static let maximumPages: Int64 = 1000
    /// How often an answer is begun anew.
    static let maximumRestarts: Int64 = 3
    /// The attempts in a row with an answer that cannot be used.
    private static let maximumUnusable = 3

    private let call: LeasedCall
    private var inquiry: Inquiry?
    private var environment: AppStoreEnvironment
    /// What Production said before Sandbox was asked.
    private var unknownInProduction: ServerAPIRefusal?

    init(_ call: LeasedCall) {
        self.call = call
        inquiry = call.payload.flatMap { Inquiry(kind: call.kind, payload: $0) }
        environment = inquiry?.environment ?? call.environment
    }

    mutating func next(after result: ServerAPIResult?) -> ServerAPIStep {
        guard let inquiry else { return .finish(.refused(reason: "unknown_inquiry")) }
        switch result {
        case nil: return ask(inquiry)
        case .answered(let answer): return .finish(taken(answer, to: inquiry))
        case .refused(let refusal): return react(to: refusal, inquiry)
        case .later(let delay):
            // Sandbox is no environment of this installation.
            if let refusal = unknownInProduction, delay.reason == "no_api_key" { return .finish(unknown(refusal)) }
            if ["answer_malformed", "answer_of_another_app"].contains(delay.reason) {
                return .finish(.later(reason: delay.reason, atMost: Self.maximumUnusable, notBefore: delay.notBefore))
            }
            return .finish(result?.callResult { _ in [] } ?? Self.interrupted)
        case .shuttingDown: return .finish(Self.interrupted)
        }
    }

    private static let interrupted = CallResult.later(reason: ExchangeFailure.shuttingDown.rawValue)

    private func ask(_ inquiry: Inquiry) -> ServerAPIStep {
        .ask(
            ServerAPIRequest(
                inquiry.endpoint,
                of: call.bundleID,
                in: environment,
                path: inquiry.path,
                query: inquiry.query,
                body: inquiry.body
            )
        )
    }

    private mutating func react(to refusal: ServerAPIRefusal, _ inquiry: Inquiry) -> ServerAPIStep {
        switch refusal.code.advice {
        case .otherEnvironment where inquiry.asksAnyEnvironment && environment == .production && inquiry.pages == 0:
            unknownInProduction = refusal
            environment = .sandbox
            return ask(inquiry)
        case .otherEnvironment, .askOnceMore:
            return .finish(unknown(refusal))
        case .dropRevision where inquiry.revision != nil && inquiry.restarts < Self.maximumRestarts:
            var anew = inquiry
            anew.revision = nil
            anew.restarts += 1
            self.inquiry = anew
            return ask(anew)
        default:
            return .finish(.refused(reason: refusal.reason))
        }
    }

    /// Apple does not know the transaction, or not yet. A person is told at once, and can ask again; a program's question is asked once more.
    private func unknown(_ refusal: ServerAPIRefusal) -> CallResult {
        guard call.priority > ServerAPIClass.interactive.rawValue else { return .refused(reason: refusal.reason) }
        return .later(reason: refusal.reason, atMost: 1, notBefore: .seconds(3600))
    }

    private func taken(_ answer: ServerAPIAnswer, to inquiry: Inquiry) -> CallResult {
        guard inquiry.endpoint.isAnsweredWithTransactions else {
            let words = answer.words(of: inquiry.endpoint)
            if inquiry.endpoint == .extendRenewalDate, words["success"] == false { return .refused(reason: "not_extended") }
            return .page([], answer: JSONSerializer.serialize(words))
        }
        let elements: ServerAPIElements
        do {
            elements = try answer.elements()
        } catch {
            return .later(reason: error.rawValue, atMost: Self.maximumUnusable)
        }
        var read = inquiry
        read.pages += 1
        read.events += Int64(elements.events.count)
        var words: JSONObject = ["environment": .string(environment.rawValue), "events": .integer(read.events)]
        if let status = elements.status { words["status"] = .integer(Int64(status)) }
        if inquiry.endpoint.isPaged {
            words["pages"] = .integer(read.pages)
            if let revision = elements.revision { words["revision"] = .string(revision) }
        }
        guard elements.hasMore else { return .page(elements.events, answer: JSONSerializer.serialize(words)) }
        guard let revision = elements.revision, revision != inquiry.revision else {
            return .later(reason: "page_without_next", atMost: Self.maximumUnusable)
        }
        guard read.pages < Self.maximumPages else { return .refused(reason: "too_many_pages") }
        read.revision = revision
        read.environment = environment
        return .page(elements.events, answer: JSONSerializer.serialize(words), next: read.payload)
    }
}
