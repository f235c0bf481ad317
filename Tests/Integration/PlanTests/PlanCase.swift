import Postgres

/// A frequent operation. Its reads must depend on the rows that it concerns, not on the size of the tables.
struct PlanCase: Sendable {
    /// The customers that the operation concerns. A customer's number is also that of the contract, charge and event.
    typealias Keys = Range<Int>

    let name: String
    /// The login role, whose settings apply.
    let role: String
    /// How many customers one run concerns.
    let size: Int
    /// The most index entries and rows read of any table for each customer.
    let entries: Int64
    /// The most pages read of any table and its indexes for each customer.
    let pages: Int64
    /// Tables of which a full scan is expected.
    let whole: Set<String>
    /// A script that the superuser runs before each run.
    let before: String?
    /// How often it runs while there are few customers.
    let warmUps: Int
    let act: @Sendable (ConnectionPool, Keys) async throws -> Void

    init(
        _ name: String,
        as role: String,
        of size: Int = 1,
        entries: Int64 = 60,
        pages: Int64 = 150,
        whole: Set<String> = [],
        before: String? = nil,
        warmUps: Int = 6,
        act: @escaping @Sendable (ConnectionPool, Keys) async throws -> Void
    ) {
        self.name = name
        self.role = role
        self.size = size
        self.entries = entries
        self.pages = pages
        self.whole = whole
        self.before = before
        self.warmUps = warmUps
        self.act = act
    }

    /// One statement about one customer.
    static func statement(
        _ name: String,
        as role: String,
        entries: Int64 = 60,
        pages: Int64 = 150,
        whole: Set<String> = [],
        _ statement: @escaping @Sendable (_ customer: Int) -> Statement
    ) -> PlanCase {
        PlanCase(name, as: role, entries: entries, pages: pages, whole: whole) { pool, keys in
            for customer in keys {
                _ = try await pool.withConnection { try await $0.query(statement(customer)) }
            }
        }
    }

    /// Pages of the latest outcomes come before repairs, which leave thousands of dead entries there for the next reader to remove.
    static let all = Array(
        [
            receiving, merging, legacy, calling, settling, selling, asking, queries, looking, repairing, seeking, ageing, telling,
            delivering,
            reading, reconciling, importing,
        ]
        .joined()
    )
}
