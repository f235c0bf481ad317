import Benchmarks
import Testing

struct YardstickTests {
    @Test func `the verifications a second are parsed from openssl speed`() {
        let output = """
            You have chosen to measure elapsed time instead of user CPU time.
            Doing 256 bits sign ecdsa's for 3s: 98321 256 bits ECDSA signs in 3.00s
            Doing 256 bits verify ecdsa's for 3s: 36873 256 bits ECDSA verify in 3.00s
            version: 3.0.19
                                          sign    verify    sign/s verify/s
             256 bits ecdsa (nistp256)   0.0000s   0.0001s  32773.7  12291.0
            """
        #expect(OpenSSLSpeed.parse(output) == 12291)
    }

    @Test(arguments: [
        "", "speed: Unknown algorithm ecdsap256", " 256 bits ecdsa (nistp256)   0.0000s", " 256 bits ecdsa (nistp256) a b c 0.0",
    ])
    func `other output gives no figure`(output: String) {
        #expect(OpenSSLSpeed.parse(output) == nil)
    }

    @Test func `the output of pgbench is parsed`() {
        let output = """
            pgbench (15.18 (Debian 15.18-0+deb12u1))
            transaction type: /tmp/script.sql
            scaling factor: 1
            query mode: prepared
            number of clients: 64
            number of threads: 2
            maximum number of tries: 1
            duration: 10 s
            number of transactions actually processed: 22841
            number of failed transactions: 0 (0.000%)
            latency average = 27.993 ms
            initial connection time = 96.018 ms
            tps = 2286.276543 (without initial connection time)
            """
        #expect(PgBench.parse(output) == PgBench.Result(transactionsPerSecond: 2286.276543, transactions: 22841, failures: 0))
    }

    @Test func `the output of an older pgbench is parsed, without the time to connect`() {
        let output = """
            number of transactions actually processed: 10/10
            tps = 99.000000 (including connections establishing)
            tps = 111.000000 (excluding connections establishing)
            """
        #expect(PgBench.parse(output) == PgBench.Result(transactionsPerSecond: 111, transactions: 10, failures: 0))
    }

    @Test func `failed transactions are counted, and incomplete output gives no result`() {
        let failed = "number of transactions actually processed: 8\nnumber of failed transactions: 2 (20.000%)\ntps = 5.0 (…)"
        #expect(PgBench.parse(failed)?.failures == 2)
        #expect(PgBench.parse("number of transactions actually processed: 8") == nil)
        #expect(PgBench.parse("pgbench: error: connection to server failed") == nil)
    }
}
