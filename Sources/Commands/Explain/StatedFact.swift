import AppStoreVerification
import Ledger
import StrictJSON

/// A fact that an event states, and the register that it is merged into.
struct StatedFact: Sendable {
    /// A row with a version.
    struct Register: Hashable, Sendable {
        /// The table, with the half of a transaction that only receipts write.
        let name: String
        let id: String
        /// Empty where it is no part of the key.
        let bundleID: String
    }

    let register: Register
    let version: Version
    /// Members that say which fact it is, named as the columns.
    let members: JSONObject

    private init(_ name: String, _ id: String, bundleID: String = "", _ version: Version, _ members: JSONObject) {
        register = Register(name: name, id: id, bundleID: bundleID)
        self.version = version
        self.members = members
    }

    /// The facts of an event, in the order of the tables.
    static func all(in facts: EventFacts) -> [StatedFact] {
        let charges = facts.transaction.map { fact in
            StatedFact("transactions", fact.key.id, fact.version, charge(fact.key, fact.originalTransactionID, fact.productID))
        }
        let receipts = facts.receipts.map { fact in
            StatedFact("transactions.receipt", fact.key.id, fact.version, charge(fact.key, fact.originalTransactionID, fact.productID))
        }
        let renewal = facts.subscription.map { StatedFact("contracts", $0.key.id, $0.version, contract($0.key)) }
        let renewals = facts.legacyRenewals.map { fact in
            var members = contract(fact.contract)
            members["bundle_id"] = .string(fact.key.bundleID)
            members["provenance"] = .string(fact.provenance.rawValue)
            return StatedFact("v1_renewals", fact.contract.id, bundleID: fact.key.bundleID, fact.version, members)
        }
        return [charges, renewal].compactMap(\.self) + receipts + renewals
    }

    private static func charge(_ key: LedgerKey, _ contract: String, _ productID: String) -> JSONObject {
        ["transaction_id": .string(key.id), "original_transaction_id": .string(contract), "product_id": .string(productID)]
    }

    private static func contract(_ key: LedgerKey) -> JSONObject { ["original_transaction_id": .string(key.id)] }

    /// - Parameter status: how it stands to its register.
    func json(_ status: FactStatus) -> JSONValue {
        var object: JSONObject = ["table": .string(register.name)]
        for member in members.members { object[member.name] = member.value }
        object["version"] = .string(Self.text(version))
        object["standing"] = .string(status.relation.rawValue)
        if status.relation != .held { object["held_version"] = status.held.map { .string(Self.text($0)) } }
        object["held_event_id"] = status.heldEvent.map { .integer($0) }
        return .object(object)
    }

    private static func text(_ version: Version) -> String {
        "\(version.signedDate) \(ContentDigest.hexadecimal(version.hash))"
    }
}

/// How a fact of an event stands to the register of its key.
struct FactStatus: Equatable {
    enum Relation: String {
        /// The register holds this fact.
        case held
        /// The register holds a newer one.
        case superseded
        /// The register holds an older one, or there is none yet: the event has not been merged.
        case notMerged = "not_merged"
    }

    let relation: Relation
    /// What the register holds; nil when there is no register.
    let held: Version?
    /// The first of the other events that say what the register holds, if there is one whose body can be read.
    let heldEvent: Int64?

    /// - Parameter others: what other events say of the same key.
    init(of version: Version, held: Version?, others: [(eventID: Int64, version: Version)]) {
        self.held = held
        guard let held else {
            relation = .notMerged
            heldEvent = nil
            return
        }
        relation = version == held ? .held : version < held ? .superseded : .notMerged
        heldEvent = relation == .held ? nil : others.filter { $0.version == held }.map(\.eventID).min()
    }
}
