import Postgres

/// Something that is done again and again: what it reads must follow from how much it is about, not from how much there is.
struct PlanCase: Sendable {
    /// Which keys of the scene it is about: each customer has a number, which is also that of his contract, charge and event.
    typealias Keys = Range<Int>

    let name: String
    /// Who does it; its settings apply from login on.
    let role: String
    /// How many customers it is about at once.
    let size: Int
    /// The most index entries and rows that may be read of any table for each customer.
    let entries: Int64
    /// The most pages of any table and its indexes, for each customer.
    let pages: Int64
    /// Tables that it reads from end to end, as it must.
    let whole: Set<String>
    /// What the superuser does before each time.
    let before: String?
    /// How often it is done while there are few customers.
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

    static let all = Array(
        [receiving, merging, legacy, calling, settling, selling, asking, looking, repairing, seeking, ageing].joined()
    )
}
