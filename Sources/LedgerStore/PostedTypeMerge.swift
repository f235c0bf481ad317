import AppStore
import Ledger
import Postgres
import SQL

/// Records the types in posted receipts, and gives them to the transactions that come from Apple's answer.
enum PostedTypeMerge {
    static func statement(_ types: [(key: LedgerKey, value: ProductType)]) -> Statement {
        .mergePostedTypes(
            environments: types.map(\.key.environment.rawValue),
            transactionIDs: types.map(\.key.id),
            productTypes: types.map(\.value.rawValue)
        )
    }

    /// After the transactions are merged.
    static func application(_ keys: [LedgerKey]) -> Statement {
        .applyPostedTypes(environments: keys.map(\.environment.rawValue), transactionIDs: keys.map(\.id))
    }
}
