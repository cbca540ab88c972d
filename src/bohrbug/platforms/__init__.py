"""What ties explorations to platforms: the only modules that know both."""
