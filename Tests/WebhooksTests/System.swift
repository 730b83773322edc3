import Glibc

/// Sleeps for a millisecond: for threads that stand in for something slow.
func pauseBriefly() { usleep(1000) }

func setProxyEnvironment(_ url: String) {
    for name in ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"] { setenv(name, url, 1) }
}
