import ArgumentParser

/// `appstore-inbox bench`: how fast it is, beside yardsticks that anyone has.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures speed and memory beside yardsticks of the same run: openssl speed, pgbench.",
        discussion: """
            Each benchmark starts a PostgreSQL of its own in a temporary folder, with default settings, and removes it at the end, also \
            when it is interrupted; run by root, PostgreSQL runs as the user postgres or nobody. The programs of PostgreSQL and openssl must \
            be installed. TMPDIR says on which disk. Exit codes: 0 measured, 1 something failed or, with --require-aims, an aim was missed, \
            2 wrong usage, 69 a program is missing, 130 and 143 interrupted.
            """,
        subcommands: [
            BenchVerify.self, BenchDrain.self, BenchIngest.self, BenchLatency.self, BenchMemory.self, BenchFlat.self, BenchReceipts.self,
        ]
    )
}
