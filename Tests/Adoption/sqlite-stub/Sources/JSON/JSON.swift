public enum JSON { case null }
