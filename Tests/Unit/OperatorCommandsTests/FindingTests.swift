import HTTPRequesting
import Testing

@testable import Commands

/// How `doctor` judges, and how it prints what it found.
struct FindingTests {
    @Test(arguments: [
        (0.4, 0.002, Finding.Status.ok), (-0.9, 0, .ok), (1.1, 0, .warning), (-1.1, 0, .warning), (1.1, 0.4, .ok), (59, 0, .warning),
        (-61, 0, .failure), (61, 4, .warning),
    ])
    func `clocks may differ by a second, and by half of the round trip`(ahead: Double, roundTrip: Double, status: Finding.Status) {
        #expect(ClockSkew(ahead: ahead, roundTrip: roundTrip).finding.status == status)
    }

    @Test func `the difference of the clocks has a direction`() {
        #expect(ClockSkew(ahead: -2, roundTrip: 0).finding.found == "2.0 s behind this machine")
        #expect(ClockSkew(ahead: 2.5, roundTrip: 0).finding.found == "2.5 s ahead of this machine")
    }

    @Test(arguments: [(-1, Finding.Status.failure), (13 * 86_400, .warning), (14 * 86_400, .ok)] as [(Int64, Finding.Status)])
    func `a certificate that expires soon is a warning, one that has expired a failure`(left: Int64, status: Finding.Status) {
        let now: Int64 = 1_774_944_000
        #expect(Finding.expiry("TLS", now + left, now: now, days: 14, "renew").status == status)
    }

    @Test func `members that cannot be read are a warning that names them`() {
        #expect(DoctorCheck.oddMembers(events: 0, outcomes: 10_000, members: []).status == .ok)
        let found = DoctorCheck.oddMembers(events: 3, outcomes: 10_000, members: ["data.bundleVersion", "transaction.price"])
        #expect(found.status == .warning && found.found.contains("3 genuine events"))
        #expect(found.found.contains("data.bundleVersion, transaction.price"))
    }

    @Test func `values that this version does not know are a warning that names them with an event`() {
        #expect(DoctorCheck.unknownValues([], outcomes: 10_000).status == .ok)
        let value = UnknownValueStatistics.Value(name: "transaction.inAppOwnershipType=LENT", events: 3, latestEventID: 4711)
        let found = DoctorCheck.unknownValues([value], outcomes: 10_000)
        #expect(found.status == .warning && found.found.contains("transaction.inAppOwnershipType=LENT (events: 3, the latest 4711)"))
    }

    @Test(arguments: [(0, 0, Finding.Status.ok, "7 are due in more than"), (2, 0, .warning, "2 overdue"), (0, 3, .warning, "3 due within")])
    func `tokens for outside purchases are a warning two days before they are due`(
        overdue: Int64,
        dueSoon: Int64,
        status: Finding.Status,
        words: String
    ) {
        let found = DoctorCheck.externalPurchaseTokens(.init(overdue: overdue, dueSoon: dueSoon, unreported: 7))
        #expect(found.status == status && found.found.contains(words))
    }

    @Test func `the settings of the roles are read from the file that sets them`() {
        let sql = """
                    ('appstore_worker',   'statement_timeout',                   '30s'),
                    -- ('appstore_worker', 'work_mem', '1GB')
                    ('appstore_worker',   'jit',                                 'off'),
            ('appstore_api',      'jit',                                 'off')
            """
        let worker: Set = ["statement_timeout=30s", "jit=off"]
        #expect(DoctorCheck.wantedSettings(sql) == ["appstore_worker": worker, "appstore_api": ["jit=off"]])
    }

    @Test(
        arguments: [
            (400, "no-signed-payload", Finding.Status.ok), (403, nil, .ok), (502, nil, .failure), (503, "too-many-bytes", .failure),
            (404, nil, .failure), (400, nil, .failure), (200, nil, .failure),
        ] as [(Int, String?, Finding.Status)]
    )
    func `only a refusal by ingest or by a list of addresses proves the way in`(status: Int, reason: String?, expected: Finding.Status) {
        let answer = HTTPProbe.Answer(status: status, reason: reason, detail: nil)
        #expect(DoctorCheck.judge("POST", answer).status == expected)
    }

    @Test(arguments: [("off", 11_000_000_000, Finding.Status.warning), ("off", 9_000_000_000, .ok), ("zstd", 11_000_000_000, .ok)])
    func `only a large database needs a compressed log`(setting: String, bytes: Int, status: Finding.Status) {
        #expect(DoctorCheck.compression(setting, databaseBytes: Int64(bytes)).status == status)
    }

    @Test(arguments: [(100, 20, Finding.Status.ok), (5, 20, .ok), (20, 21, .warning), (22, 21, .ok)] as [(Int64, Int64, Finding.Status)])
    func `most checkpoints are to come on time`(timed: Int64, requested: Int64, status: Finding.Status) {
        #expect(DoctorCheck.checkpoints(timed: timed, requested: requested, "1.0 GB, each 5min").status == status)
    }

    @Test(
        arguments: [
            (3200, 21, 20, Finding.Status.ok), (3201, 21, 20, .warning), (10, 320, 20, .ok), (10, 321, 20, .warning), (10, 6500, 0, .ok),
        ] as [(Int64, Int64, Int64, Finding.Status)]
    )
    func `half of the room for locks stays free, and all sessions can read all partitions`(
        held: Int64,
        ofStatement: Int64,
        sessions: Int64,
        status: Finding.Status
    ) {
        #expect(DoctorCheck.locks(held: held, slots: 6400, ofStatement: ofStatement, sessions: sessions).status == status)
    }

    @Test(
        arguments: [
            (250_000_000, 1, Finding.Status.ok), (250_000_001, 1, .warning), (1, 250_000_001, .warning), (1_600_000_001, 1, .failure),
        ] as [(Int64, Int64, Finding.Status)]
    )
    func `rows that autovacuum does not freeze are named long before the server stops`(
        database: Int64,
        table: Int64,
        status: Finding.Status
    ) {
        let finding = DoctorCheck.transactionIDs(
            databaseAge: database,
            tableAge: table,
            oldestTable: "orders",
            freezeMaxAge: 200_000_000
        )
        #expect(finding.status == status)
    }

    @Test func `a few events do not make a last partition a problem, nor do fifty partitions`() {
        #expect(DoctorCheck.lastPartitions(100_000_000).status == .ok)
        #expect(DoctorCheck.lastPartitions(100_000_001).status == .warning)
        #expect(DoctorCheck.partitionCounts([("inbox", 60), ("outcomes", 52)]).status == .ok)
        #expect(DoctorCheck.partitionCounts([("inbox", 2), ("outcomes", 61)]).status == .warning)
    }

    private let report = FindingReport(findings: [
        (.settings, .ok("settings", "ingest can start with them")), (.database, .warning("clock", "2.0 s behind", "set it")),
        (.database, .failure("schema", "the schema\u{1B}[2J is version 0", "run `migrate`")),
    ])

    @Test func `the worst finding decides the exit code`() {
        #expect(report.worst.exitCode == 2)
        #expect(FindingReport(findings: Array(report.findings.prefix(2))).worst.exitCode == 1)
        #expect(FindingReport(findings: []).worst.exitCode == 0)
    }

    @Test func `each finding is one line below its group, and only doctor's own escapes reach a terminal`() {
        let lines = report.text(inColour: false).split(separator: "\n")
        #expect(
            lines.filter { $0.hasPrefix(" ") } == [
                "  ok       settings  ingest can start with them", "  warning  clock     2.0 s behind. Set it",
                #"  failure  schema    the schema\u001b[2J is version 0. Run `migrate`"#,
            ]
        )
        #expect(
            lines.filter { !$0.hasPrefix(" ") } == ["settings", "database", "roles", "listeners", "inbox", "webhooks", "apple", "disk"]
        )
        #expect(report.text(inColour: true).contains("\u{1B}[33mwarning\u{1B}[0m"))
        #expect(!report.text(inColour: true).contains("\u{1B}[2J"))
    }

    @Test(
        arguments: [
            ("https://a.example", "true a.example 443 /apple/v2/notifications"),
            ("http://[::1]:8080/", "false ::1 8080 /apple/v2/notifications"),
            ("https://a.example/in", "true a.example 443 /in"), ("ftp://a.example", nil), ("a.example", nil), ("https://", nil),
        ] as [(String, String?)]
    )
    func `a public URL without a path gets the one of notifications`(text: String, expected: String?) {
        #expect(PublicURL(text).map { "\($0.isTLS) \($0.host) \($0.port) \($0.address.target)" } == expected)
    }
}
