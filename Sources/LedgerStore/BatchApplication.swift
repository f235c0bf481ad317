import AppStore
import Ledger
import Postgres
import SQL

/// What a batch changed in one environment, to be derived, and its effects there; see `appstore.apply_facts`.
struct BatchApplication {
    let environment: AppStoreEnvironment
    /// By their ids.
    let effects: [EffectKey: (effect: Effect, eventID: Int64)]
    private let transactions: [String]
    private let submitted: [String]
    private let renewed: [String]
    /// The transactions that are the only one of their contract in the batch, with the contract: its renewal info is in the batch, which
    /// holds its lock, and no post nor Notification V1 is about it.
    private let candidates: [(transaction: String, contract: String)]

    init(of fold: BatchFold, in environment: AppStoreEnvironment) {
        func ids(_ keys: some Sequence<LedgerKey>) -> Set<String> {
            Set(keys.lazy.filter { $0.environment == environment }.map(\.id))
        }
        let posted = ids(fold.posts.keys.map(\.contract))
        let subscriptions = ids(fold.subscriptions.keys)
        let v1Renewals = ids(fold.legacyRenewals.keys.map(\.contract))
        let transactionsOfContract = Dictionary(
            grouping: fold.transactions.filter { $0.key.environment == environment },
            by: { $0.value.signed?.originalTransactionID }
        )
        self.environment = environment
        // Of a charge that is granted both with its period and without, the former counts.
        let granted = fold.effects.values.filter { $0.effect.key.environment == environment && $0.effect.key.kind == .granted }
        let withPeriod = Set(granted.lazy.filter { !$0.effect.isGrantWithoutPeriod }.compactMap(\.effect.transactionID))
        effects = fold.effects.filter { key, value in
            key.environment == environment
                && !(value.effect.isGrantWithoutPeriod && value.effect.transactionID.map(withPeriod.contains) == true)
        }
        transactions = ids(fold.transactions.keys).sorted()
        submitted = posted.sorted()
        renewed = subscriptions.union(v1Renewals).sorted()
        candidates = transactionsOfContract.compactMap { contract, registers in
            guard let contract, registers.count == 1, subscriptions.contains(contract), !posted.contains(contract),
                !v1Renewals.contains(contract)
            else { return nil }
            return (registers[0].key.id, contract)
        }.sorted { $0.transaction < $1.transaction }
    }

    /// Returns the ids of the effects that are new.
    var statement: Statement {
        let entries = effects.values.map { (id: $0.effect.key.id, effect: $0.effect, eventID: $0.eventID) }
        return Statement(
            .applyBatch,
            [
                "environment": environment.rawValue,
                "transaction_ids": transactions,
                "candidates": candidates.map(\.transaction),
                "candidate_contracts": candidates.map(\.contract),
                "submitted_contracts": submitted,
                "renewed_contracts": renewed,
                "effect_ids": entries.map(\.id),
                "other_effect_ids": entries.map { $0.effect.keyWithoutPeriod?.id },
                "kinds": entries.map(\.effect.key.kind.rawValue),
                "subjects": entries.map(\.effect.key.subject),
                "event_ids": entries.map(\.eventID),
                "occurred_at": entries.map { PostgresTimestamp($0.effect.occurredAt) },
                "original_transaction_ids": entries.map(\.effect.originalTransactionID),
                "effect_transaction_ids": entries.map(\.effect.transactionID),
                "product_ids": entries.map(\.effect.productID),
                "vouched_bundle_ids": entries.map(\.effect.vouchedBundleID),
            ]
        )
    }
}

extension Effect {
    /// Whether a charge was granted by a fact that does not name the charge's period; also of a product without periods.
    fileprivate var isGrantWithoutPeriod: Bool { key.kind == .granted && key.subject == transactionID }

    /// The key that the grant of a period would have if the fact did not name the period; nil of everything else.
    fileprivate var keyWithoutPeriod: EffectKey? {
        guard key.kind == .granted, let transactionID, key.subject != transactionID else { return nil }
        return EffectKey(environment: key.environment, kind: key.kind, subject: transactionID)
    }
}
