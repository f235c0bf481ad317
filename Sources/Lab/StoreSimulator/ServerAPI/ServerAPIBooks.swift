package import AppStore
import FoundationEssentials
package import StrictJSON

/// What the simulated API knows of an app in an environment.
struct ServerAPIBooks: Sendable {
    var customers: [String: HeldCustomer] = [:]
    /// The customer of each transactionId and appTransactionId.
    var owners: [String: String] = [:]
    var pushes = PushRecords()
    /// The notifications of tests, by their tokens.
    var tests: [String: UUID] = [:]
    var massExtensions: [String: MassExtension] = [:]
    /// When the store last asked about the consumption of a transaction.
    var consumptionAsked: [String: Timestamp] = [:]
    var consumptions: [SimulatedServerAPI.Consumption] = []
    /// By groupId.
    var groups: [String: SimulatedServerAPI.ConsumerGroup] = [:]
    /// By the originalTransactionId of the purchaser.
    var seats: [String: SimulatedServerAPI.Seats] = [:]
}

/// A customer and the state of it at several times.
struct HeldCustomer: Sendable {
    struct Version: Sendable {
        let heldAt: Timestamp
        var life: CustomerLife
        /// The number of each transaction's last change, by its identifier.
        var changes: [String: Int]
    }

    /// Oldest first.
    private(set) var versions: [Version] = []
    private var lastChange = 0
    /// When its renewal was extended.
    var extensions: [Timestamp] = []
    var hasAppTransaction = true

    /// The state that the store knows at `limit`.
    func version(until limit: Timestamp) -> Version? { versions.last { $0.heldAt <= limit } }

    /// The newest state.
    var newest: Version? { versions.last }

    /// Adds the state of `now`, and forgets those that no answer is made from: all but the last one until `limit`.
    mutating func add(_ life: CustomerLife, at now: Timestamp, forgettingUntil limit: Timestamp) {
        var changes = versions.last?.changes ?? [:]
        let known = Dictionary((versions.last?.life.allCharges ?? []).map { ($0.transactionID, $0) }) { $1 }
        for charge in life.allCharges where known[charge.transactionID] != charge {
            lastChange += 1
            changes[charge.transactionID] = lastChange
        }
        versions.append(Version(heldAt: now, life: life, changes: changes))
        if let index = versions.lastIndex(where: { $0.heldAt <= limit }) { versions.removeFirst(index) }
    }
}

/// The extension of many subscriptions.
struct MassExtension: Sendable {
    let productID: String
    let completedAt: Timestamp
    let succeeded: Int
    let failed: Int
}

/// A notification that the store has signed and not yet sent.
struct UnsentNotification: Sendable {
    let place: ServerAPIPlace
    let signed: SignedNotification
}

extension SimulatedServerAPI {
    /// An answer about a customer's consumption that the store has accepted.
    package struct Consumption: Hashable, Sendable {
        package let transactionID: String
        /// The body of the request.
        package let body: JSONObject
        package let at: Timestamp
        /// Whether it came within twelve hours of the newest request. Apple ignores others.
        package let isInTime: Bool
    }
}

extension CustomerLife {
    /// All charges, in the order of their purchase.
    var allCharges: [SimulatedTransaction] {
        ((subscription?.transactions ?? []) + oneTimeCharges).sorted { left, right in
            (left.purchaseDate, Int64(left.transactionID) ?? 0) < (right.purchaseDate, Int64(right.transactionID) ?? 0)
        }
    }
}
