package import StrictJSON

/// One signed thing in an answer of the App Store Server API, with what was asked: `{"asked": {…}, "answer": {…}}`.
///
/// The body of an inbox event of the sources `subscription_status`, `transaction_info`, `app_transaction`, `imported_status` and
/// `imported_transaction`. The JWS in it prove themselves; TLS to Apple vouches for the rest, such as a status.
package struct AnswerElement: Sendable {
    /// The environment that was asked about.
    package let environment: AppStoreEnvironment
    /// The app that was asked about.
    package let bundleID: String
    /// The id that was asked about; nil where there is none.
    package let askedID: String?
    package let content: Content
    /// The whole body.
    package let document: JSONObject
    /// The members of the answer that cannot be read.
    package let odd: [MalformedPayload]
    /// The values of the answer that this version does not know.
    package let unknown: [UnknownValue]

    package enum Content: Sendable {
        /// An entry of `lastTransactions`.
        case status(StatusEntry)
        case transaction(signed: String)
        case appTransaction(signed: String)
    }

    /// The status of one contract, as Apple gives it.
    package struct StatusEntry: Sendable {
        package let originalTransactionID: String?
        package let status: Status?
        package let signedTransactionInfo: String
        package let signedRenewalInfo: String?
    }

    /// Why a body is malformed; the raw value is the code that is stored and shown.
    package enum Malformed: String, Error, CaseIterable, Sendable {
        /// No JSON object.
        case notAnObject = "not_a_json_object"
        /// `asked` lacks endpoint, environment or bundleId, or one is no string.
        case question = "malformed_question"
        /// `answer` is no object, or the JWS that the source is about is no string.
        case answer = "malformed_answer"
        /// `answer` lacks the JWS that the source is about.
        case noSignedData = "no_signed_data"
    }

    /// The body of an event.
    ///
    /// - Parameters:
    ///   - asked: endpoint, environment and bundleId at least.
    ///   - answer: as Apple gave it, with all its members.
    package static func body(asked: JSONObject, answer: JSONObject) -> [UInt8] {
        JSONSerializer.serialize(["asked": .object(asked), "answer": .object(answer)] as JSONObject)
    }

    /// Reads what ``body(asked:answer:)`` wrote; other members are ignored.
    package init(body: [UInt8], source: EventSource) throws(Malformed) {
        let object = try JSONObject(body: body, or: Malformed.notAnObject)
        guard case .object(let asked)? = object["asked"], case .string? = asked["endpoint"],
            case .string(let environment)? = asked["environment"], case .string(let bundleID)? = asked["bundleId"]
        else { throw .question }
        guard case .object(let answer)? = object["answer"] else { throw .answer }
        document = object
        self.environment = AppStoreEnvironment(rawValue: environment)
        self.bundleID = bundleID
        if case .array(let path)? = asked["path"], case .string(let id)? = path.first { askedID = id } else { askedID = nil }
        var members = MemberReader<Content.Member>(answer)
        let found = Content(&members, of: source)
        odd = members.odd.map { $0.inside("answer") }
        unknown = members.unknown.map { $0.inside("answer") }
        guard let found else { throw odd.isEmpty ? .noSignedData : .answer }
        content = found
    }
}

extension AnswerElement.Content {
    fileprivate enum Member: String {
        case originalTransactionId, status, signedTransactionInfo, signedRenewalInfo, signedAppTransactionInfo
    }

    /// Nil without the JWS that the source is about.
    fileprivate init?(_ members: inout MemberReader<Member>, of source: EventSource) {
        if source == .appTransaction {
            guard let signed = members.string(.signedAppTransactionInfo) else { return nil }
            self = .appTransaction(signed: signed)
            return
        }
        guard let signed = members.string(.signedTransactionInfo) else { return nil }
        guard [.subscriptionStatus, .importedStatus].contains(source) else {
            self = .transaction(signed: signed)
            return
        }
        self = .status(
            AnswerElement.StatusEntry(
                originalTransactionID: members.identifier(.originalTransactionId),
                status: members.value(.status),
                signedTransactionInfo: signed,
                signedRenewalInfo: members.string(.signedRenewalInfo)
            )
        )
    }
}
