import AppStore
import Ledger

/// One charge's register as a row of `transactions`: how a column gets its value from the two halves.
struct TransactionRow: Sendable {
    let register: TransactionRegister
    /// Whether expiry, revocation and upgrade come from the receipt half.
    private let isStatedByReceipt: Bool

    init(_ register: TransactionRegister) {
        self.register = register
        isStatedByReceipt = register.isStatedByReceipt
    }

    /// All constants come from the JWS half if there is one; else from the receipt half.
    func constant<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact) -> Value?) -> Value? {
        if let signed = register.signed { ofJWS(signed) } else { register.receipt.flatMap { ofReceipt($0.latest) } }
    }

    /// Constants that only some forms of a receipt have; they are kept from any of them.
    func constant<Value>(_ ofJWS: (TransactionFact) -> Value?, gathered: (ReceiptHalf) -> Value?) -> Value? {
        if let signed = register.signed { ofJWS(signed) } else { register.receipt.flatMap(gathered) }
    }

    func state<Value>(_ ofJWS: (TransactionFact) -> Value?, _ ofReceipt: (ReceiptFact.Content) -> Value?) -> Value? {
        if isStatedByReceipt { register.receipt.flatMap { ofReceipt($0.latest.content) } } else { register.signed.flatMap(ofJWS) }
    }

    /// The payload of the JWS half, for what no receipt has.
    var payload: JWSTransactionDecodedPayload? { register.signed?.payload }
    /// The receipt half.
    var receipt: ReceiptFact? { register.receipt?.latest }

    /// The version of the first token; nil where it comes from the JWS half.
    var firstTokenVersion: Version? {
        guard let version = register.firstToken?.version, version != register.signed?.version else { return nil }
        return version
    }
}
