import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import Testing

/// The database's locale has no effect on the ledger. Production databases rarely have C, which all other tests use.
@Suite(.serialized) struct LocaleTests {
    static let lives = Seed.lives("LIVES_LOCALES", usually: 200)

    @Test func `the ledger is the same in databases of every locale`() async throws {
        let lives = try await PreparedLife.make(Seed.indices(Self.lives))
        let expected = await lives.lines()
        var generator = SeededGenerator(seed: Seed.current)
        let steps = lives.steps.shuffled(using: &generator)
        var digests: [[String]] = []
        for locale in try await Self.locales() {
            let ledger = try await LedgerFixture.open(options: locale)
            try await ledger.process(steps, batchesOf: 60, atOnce: 2, using: &generator)
            let difference = LedgerDifference.between(expected: expected, found: try await ledger.lines())
            #expect(difference == [], "\(locale) LIVES_SEED=\(Seed.current)")
            digests.append(try await ledger.digests().sorted())
            #expect(digests.last == digests.first, "\(locale) LIVES_SEED=\(Seed.current)")
            try await ledger.close()
        }
    }

    /// C, ICU where PostgreSQL has it, and a libc locale that does not sort by bytes, if one is installed.
    private static func locales() async throws -> [String] {
        let database = try await TestCluster.shared.makeDatabase()
        let installed = try await database.lines(
            """
            SELECT quote_literal(c.collcollate) FROM pg_collation AS c
            WHERE c.collprovider = 'c' AND c.collcollate NOT IN ('C', 'POSIX') AND c.collcollate NOT ILIKE 'C.%'
              AND c.collencoding IN (-1, pg_char_to_encoding('UTF8'))
            ORDER BY c.collcollate LIMIT 1
            """
        )
        try await database.drop()
        let icu = try await TestCluster.shared.hasICU() ? ["LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"] : []
        return [""] + icu + installed.map { "LOCALE \($0)" }
    }
}
