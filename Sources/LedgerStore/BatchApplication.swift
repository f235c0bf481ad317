import AppStore
import FoundationEssentials
import Ledger
import Postgres
import SQL
import StrictJSON

/// The transactions and contracts that a batch changed in one environment, and its effects there; see `appstore.apply_facts`.
struct BatchApplication {
    let environment: AppStoreEnvironment
    let effects: [EffectKey: (effect: Effect, eventID: Int64)]
    private let transactions: [String]
    private let submitted: [String]
    /// All contracts that the batch has locked: where one has no facts, the derivation deletes its row.
    private let locked: [String]
    /// Transactions, with their contract, that are the contract's only one in the batch. The batch also has the contract's renewal info, hence
    /// its lock, but neither a post nor a notification V1 about it.
    private let candidates: [(transaction: String, contract: String)]
    private let reversals: [(transactionID: String, eventID: Int64)]

    init(of fold: BatchFold, in environment: AppStoreEnvironment) {
        func ids(_ keys: some Sequence<LedgerKey>) -> Set<String> {
            Set(keys.lazy.filter { $0.environment == environment }.map(\.id))
        }
        let posted = ids(fold.posts.keys.map(\.contract))
        let subscriptions = ids(fold.subscriptions.keys)
        let v1Renewals = ids(fold.legacyRenewals.keys.map(\.contract))
        let transactionsOfContract = Dictionary(
            grouping: fold.transactions.filter { $0.key.environment == environment },
            by: { $0.value.signed?.originalTransactionID ?? $0.value.receipt?.latest.originalTransactionID }
        )
        self.environment = environment
        // If a charge is granted both with its period and without, only the grant with the period counts.
        let granted = fold.effects.values.filter { $0.effect.key.environment == environment && $0.effect.key.kind == .granted }
        let withPeriod = Set(granted.lazy.filter(\.effect.isGrantWithPeriod).compactMap(\.effect.transactionID))
        effects = fold.effects.filter { key, value in
            key.environment == environment
                && !(value.effect.isGrantWithoutPeriod && value.effect.transactionID.map(withPeriod.contains) == true)
        }
        reversals = fold.refundStatements.values.filter { $0.key.environment == environment && $0.kind == .reversed }
            .compactMap { reversal in fold.notifications[reversal.key].map { (reversal.transactionID, $0) } }
        transactions = ids(fold.transactions.keys).union(ids(fold.postedTypes.keys)).sorted()
        submitted = posted.sorted()
        locked = ids(fold.lockedContracts).sorted()
        candidates = transactionsOfContract.compactMap { contract, registers in
            guard let contract, registers.count == 1, subscriptions.contains(contract), !posted.contains(contract),
                !v1Renewals.contains(contract)
            else { return nil }
            return (registers[0].key.id, contract)
        }.sorted { $0.transaction < $1.transaction }
    }

    private typealias Entry = (id: UUID, effect: Effect, eventID: Int64)

    /// Effects that are recorded only where nothing else tells the same.
    private static func isFound(_ entry: Entry) -> Bool { entry.effect.key.kind == .statusFound }

    /// Effects that get their number from the refunds that are known already.
    private static func isRefund(_ entry: Entry) -> Bool { entry.effect.key.kind == .refunded }

    private var entries: [Entry] { effects.values.map { ($0.effect.key.id, $0.effect, $0.eventID) } }

    /// Returns the ids of the effects that are new.
    var statement: Statement {
        let entries = entries.filter { !Self.isFound($0) && !Self.isRefund($0) }
        return .applyFacts(
            environment: environment.rawValue,
            transactionIDs: transactions,
            candidates: candidates.map(\.transaction),
            candidateContracts: candidates.map(\.contract),
            contractIDs: submitted,
            renewals: locked,
            effectIDs: entries.map(\.id),
            otherEffectIDs: entries.map { $0.effect.keyWithoutPeriod?.id },
            kinds: entries.map(\.effect.key.kind.rawValue),
            subjects: entries.map(\.effect.key.subject),
            eventIDs: entries.map(\.eventID),
            occurredAt: entries.map { PostgresTimestamp($0.effect.occurredAt) },
            originalTransactionIDs: entries.map(\.effect.originalTransactionID),
            effectTransactionIDs: entries.map(\.effect.transactionID),
            productIDs: entries.map(\.effect.productID),
            vouchedBundleIDs: entries.map(\.effect.vouchedBundleID),
            gracePeriodExpiresDates: entries.map { $0.effect.gracePeriodExpiresDate.map(PostgresTimestamp.init) },
            bundleIDs: entries.map(\.effect.bundleID),
            details: entries.map { $0.effect.details.map { JSONText(JSONSerializer.text($0)) } }
        )
    }

    /// After ``statement``, and after the reversals in the batch; nil without refunds and reversals. Returns, for each effect that is given here,
    /// the event of the refund that it is.
    var refundStatement: Statement? {
        let entries = entries.filter(Self.isRefund)
        guard !entries.isEmpty || !reversals.isEmpty else { return nil }
        return .recordRefunds(
            environment: environment.rawValue,
            effectIDs: entries.map(\.id),
            eventIDs: entries.map(\.eventID),
            occurredAt: entries.map { PostgresTimestamp($0.effect.occurredAt) },
            transactionIDs: entries.map(\.effect.transactionID),
            reversedTransactionIDs: reversals.map(\.transactionID),
            reversalEventIDs: reversals.map(\.eventID)
        )
    }

    /// After ``statement`` and ``refundStatement``, which record what tells the same; nil when no answer found a status. Returns the ids of the
    /// effects that are new.
    var foundStatement: Statement? {
        let entries = entries.filter(Self.isFound)
        guard !entries.isEmpty else { return nil }
        return .recordFoundStatuses(
            environment: environment.rawValue,
            effectIDs: entries.map(\.id),
            subjects: entries.map(\.effect.key.subject),
            eventIDs: entries.map(\.eventID),
            occurredAt: entries.map { PostgresTimestamp($0.effect.occurredAt) },
            originalTransactionIDs: entries.map(\.effect.originalTransactionID),
            transactionIDs: entries.map(\.effect.transactionID),
            productIDs: entries.map(\.effect.productID),
            gracePeriodExpiresDates: entries.map { $0.effect.gracePeriodExpiresDate.map(PostgresTimestamp.init) }
        )
    }
}

extension Effect {
    /// Whether it grants a period of a subscription.
    fileprivate var isGrantWithPeriod: Bool { key.kind == .granted && key.subject.contains("/") }

    /// Whether a fact without the charge's period granted it; true also for products without periods.
    fileprivate var isGrantWithoutPeriod: Bool { key.kind == .granted && key.subject == transactionID }

    /// The key of a period's grant if the fact did not name the period; nil for other effects.
    fileprivate var keyWithoutPeriod: EffectKey? {
        guard isGrantWithPeriod, let transactionID else { return nil }
        return EffectKey(environment: key.environment, kind: key.kind, subject: transactionID)
    }
}
