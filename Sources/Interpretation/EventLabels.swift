import AppStore
import AppStoreVerification
package import FoundationEssentials
import Ledger
import StrictJSON

/// What a verified event says of itself, so that people can find it. Empty where nothing was verified.
///
/// Each text can be stored and indexed.
package struct EventLabels: Hashable, Sendable {
    package private(set) var notificationType: String?
    package private(set) var subtype: String?
    package internal(set) var notificationUUID: UUID?
    package private(set) var environment: String?
    package private(set) var bundleID: String?
    package private(set) var transactionID: String?
    package internal(set) var originalTransactionID: String?
    /// The known members of another type than this version reads, at most 20: `data.bundleVersion`, `latest_receipt_info[].quantity`.
    package private(set) var oddMembers: [String] = []
    /// The values of Apple's lists that this version does not know, at most 20: `transaction.type=Subscription%20Bundle`.
    ///
    /// What is not a letter, a digit, `-`, `.` or `_` of ASCII is percent-encoded (RFC 3986).
    package private(set) var unknownValues: [String] = []

    /// Whether nothing but ``oddMembers`` and ``unknownValues`` is known.
    var areEmpty: Bool {
        var others = self
        others.oddMembers = []
        others.unknownValues = []
        return others == EventLabels()
    }

    /// Names each of these members once. They are Apple's names, never values.
    mutating func note(odd members: [String]) { Self.note(members, in: &oddMembers) }

    /// Names each of these values once. Apple chose them, never a customer or an app.
    mutating func note(unknown values: [UnknownValue]) {
        Self.note(values.map { "\($0.path)=\($0.value.percentEncoded)" }, in: &unknownValues)
    }

    private static func note(_ texts: [String], in noted: inout [String]) {
        for text in texts.lazy.map({ String($0.prefix(maximumLength)) }) where !noted.contains(text) {
            guard noted.count < maximumCount else { return }
            noted.append(text)
        }
    }

    private static let maximumCount = 20
    private static let maximumLength = 100
}

extension String {
    fileprivate var percentEncoded: String {
        utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isUnreserved = character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
            return isUnreserved ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        .joined()
    }
}

extension EventLabels {
    init(_ verified: VerifiedNotification) {
        self.init(verified.notification.value)
        environment = verified.environment.rawValue.storable
        bundleID = verified.bundleID?.storable
        transactionID = verified.transaction?.value.transactionId?.storable
        originalTransactionID = verified.contract?.storable
    }

    /// The labels of the outer payload alone: for a refused notification with a valid signature.
    init(_ notification: ResponseBodyV2DecodedPayload) {
        self.init()
        let (data, summary, appData) = (notification.data, notification.summary, notification.appData)
        let (token, unclaimInfo) = (notification.externalPurchaseToken, notification.unclaimInfo)
        notificationType = notification.notificationType?.rawValue.storable
        subtype = notification.subtype?.rawValue.storable
        notificationUUID = notification.notificationUUID.map { UUID(notification: $0) }
        let environments = [data?.environment, summary?.environment, appData?.environment, token?.environment, unclaimInfo?.environment]
        environment = environments.lazy.compactMap(\.self).first?.rawValue.storable
        let bundleIDs = [data?.bundleId, summary?.bundleId, appData?.bundleId, token?.bundleId, unclaimInfo?.bundleId]
        bundleID = bundleIDs.lazy.compactMap(\.self).first?.storable
    }

    /// The labels of a transaction alone.
    init(_ transaction: JWSTransactionDecodedPayload) {
        self.init()
        environment = transaction.environment?.rawValue.storable
        bundleID = transaction.bundleId?.storable
        transactionID = transaction.transactionId?.storable
        originalTransactionID = transaction.originalTransactionId?.storable
    }

    init(_ renewalInfo: JWSRenewalInfoDecodedPayload) {
        self.init()
        environment = renewalInfo.environment?.rawValue.storable
        originalTransactionID = renewalInfo.originalTransactionId?.storable
    }

    init(_ app: AppTransaction) {
        self.init()
        environment = app.receiptType?.rawValue.storable
        bundleID = app.bundleId?.storable
    }

    /// The labels of a refused payload or receipt; empty unless its signature was valid.
    init(_ rejection: Rejection) {
        switch rejection.genuine {
        case .notification(let notification): self.init(notification)
        case .transaction(let transaction): self.init(transaction)
        case .renewalInfo(let renewalInfo): self.init(renewalInfo)
        case .appTransaction(let app): self.init(app)
        case .receipt(let receipt):
            self.init()
            environment = receipt.environment?.rawValue.storable
            bundleID = receipt.bundleID?.storable
        case .other, nil: self.init()
        }
    }

    /// The labels of a notification V1, also for apps that are not configured.
    init(_ body: ResponseBodyV1) {
        self.init()
        notificationType = body.notificationType?.rawValue.storable
        environment = body.environment?.rawValue.storable
        bundleID = body.bundleID?.storable
        originalTransactionID = body.originalTransactionID?.storable
    }

    init(_ notification: AuthenticNotificationV1) {
        self.init(notification.body)
        notificationUUID = notification.uuid
        environment = notification.environment.rawValue.storable
        bundleID = notification.bundleID.storable
    }

    init(_ receipt: VerifiedReceipt) {
        self.init()
        environment = receipt.environment.rawValue.storable
        bundleID = receipt.bundleID.storable
    }

    init(_ answer: VerifyReceiptResponse) {
        self.init()
        environment = (answer.environment ?? answer.receipt?.receiptType?.environment)?.rawValue.storable
        bundleID = answer.receipt?.bundleID?.storable
    }

    /// Adds the charge and the contract of the facts, where there is only one.
    mutating func name(_ facts: EventFacts) {
        let receipts = facts.allReceipts
        let charge = facts.namingPost?.key.transactionID ?? facts.refundStatement?.transactionID ?? Self.only(receipts.lazy.map(\.key.id))
        transactionID = charge?.storable
        if originalTransactionID == nil {
            let contract =
                receipts.first { $0.key.id == charge }?.originalTransactionID
                ?? Self.only(receipts.map(\.originalTransactionID) + facts.legacyRenewals.map(\.contract.id))
            originalTransactionID = contract?.storable
        }
    }

    /// The only distinct value; nil when there are two or none.
    private static func only(_ ids: some Sequence<String>) -> String? {
        var only: String?
        for id in ids {
            if let known = only, known != id { return nil }
            only = id
        }
        return only
    }
}

extension String {
    /// The text; nil when it contains U+0000, or is too long for an index, so that recording an outcome never fails. Apple's own texts are
    /// far below a hundred bytes.
    var storable: String? { hasNUL || utf8.count > 1000 ? nil : self }
}
