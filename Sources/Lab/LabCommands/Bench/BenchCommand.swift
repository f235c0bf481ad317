import ArgumentParser

/// `appstore-inbox-lab bench`: measures speed and memory.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures the speed and memory of appstore-inbox, compared with openssl speed and pgbench in the same run.",
        discussion: """
            Each benchmark starts its own PostgreSQL in a temporary folder, with default settings, and removes it at the end, also when it is \
            interrupted. Run by root, PostgreSQL runs as the user postgres or nobody. The programs of PostgreSQL and openssl must be \
            installed. TMPDIR sets the parent of the temporary folder, and so the disk. Exit codes: 0 measured, 1 something failed or, with --require-aims, an aim was missed, \
            2 wrong usage, 69 a program is missing, 130 and 143 interrupted.
            """,
        subcommands: [
            BenchVerify.self, BenchDrain.self, BenchIngest.self, BenchLatency.self, BenchMemory.self, BenchFlat.self, BenchReceipts.self,
            BenchFeed.self, BenchHistory.self, BenchImport.self, BenchWebhooks.self, BenchReports.self, BenchConsole.self,
        ]
    )
}
